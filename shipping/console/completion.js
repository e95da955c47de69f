// What the editor completes: tables, columns, functions and keywords.
//
// The element that `data-schema` names holds JSON. All parts may be left out; names are any
// text.
//
//   {"tables": [{"name": "visits", "detail": "one row for each visit",
//                "columns": [{"name": "ward", "detail": "8 keys", "info": "..."}]}],
//    "functions": [{"name": "COUNT", "detail": "people or rows"}, "AVG"],
//    "keywords": ["SELECT", "FROM"]}
//
// After "visits." or after an alias of it stand its columns; elsewhere everything, and first
// the columns of the tables that the question names. Names that SQL would read otherwise are
// quoted.

import {syntaxTree} from '@codemirror/language';

const KEYWORDS = (
  'ALL AND AS ASC BETWEEN BY CASE CAST CROSS CUBE DATE DESC DISTINCT ELSE END EXISTS ' +
  'EXPLAIN FALSE FILTER FROM FULL GROUP GROUPING HAVING IN INNER INTERVAL IS JOIN LEFT LIKE ' +
  'LIMIT NOT NULL ON OR ORDER OUTER OVER PARTITION ROLLUP SELECT SETS THEN ' +
  'TIMESTAMP TRUE UNION USING WHEN WHERE WITH WITHIN'
).split(' ');

const FUNCTIONS = (
  'ABS AVG CEIL COALESCE CONCAT CORR COUNT COUNT_IF COVAR_POP COVAR_SAMP DATE_DIFF ' +
  'DATE_TRUNC DAY EXP EXTRACT FLOOR GREATEST LAG LEAD LEAST LN LOWER MAX MEDIAN MIN ' +
  'MONTH NULLIF POWER QUANTILE RANK REGR_INTERCEPT REGR_SLOPE ROUND ROW_NUMBER SIGN ' +
  'SQRT STDDEV SUBSTR SUM TRIM UPPER VARIANCE YEAR'
).split(' ');

const OUTSIDE = new Set(['String', 'LineComment', 'BlockComment']);

/** The schema that was read last, and its text: htmx may swap the element. */
let [lastText, lastSchema] = [null, null];

/** Returns the list of things with a name that a part of the schema holds. */
function named(list) {
  return (Array.isArray(list) ? list : [])
    .map((each) => (typeof each === 'string' ? {name: each} : each))
    .filter((each) => typeof each?.name === 'string');
}

/** Returns the schema of a textarea, with the language's own words where it says none. */
export function readSchema(textarea) {
  const text = document.getElementById(textarea.dataset.schema)?.textContent || '{}';
  if (text === lastText) return lastSchema;
  let given = {};
  try {
    given = JSON.parse(text) ?? {};
  } catch (error) {
    console.error('The schema for completion is not JSON.', error);
  }
  lastText = text;
  lastSchema = {
    tables: named(given.tables).map((table) => ({...table, columns: named(table.columns)})),
    functions: named(given.functions ?? FUNCTIONS),
    keywords: named(given.keywords ?? KEYWORDS).map((each) => each.name),
  };
  return lastSchema;
}

/** Returns a name as SQL reads it back: quoted, unless it is a plain word. */
function quote(name, schema) {
  const word = /^[a-z_][a-z0-9_]*$/i.test(name);
  return word && !schema.keywords.includes(name.toUpperCase())
    ? name : `"${name.replaceAll('"', '""')}"`;
}

/** Returns a written name without its quotes, and in small letters. */
function unquote(written) {
  const name = written.startsWith('"') ? written.slice(1, -1).replaceAll('""', '"') : written;
  return name.toLowerCase();
}

const NAME = '"(?:[^"]|"")*"|[\\p{L}_][\\p{L}\\p{N}_$]*';
const SOURCE = new RegExp(
  `(?:\\b(?:from|join)|,)\\s*(?:(?:${NAME})\\.)?(${NAME})(?:\\s+(?:as\\s+)?(${NAME}))?`, 'giu',
);

/** Returns the tables that a question reads, by the names and aliases under which it does. */
function tablesIn(question, schema) {
  const known = new Map(schema.tables.map((table) => [table.name.toLowerCase(), table]));
  const found = new Map();
  const words = question.replace(/--.*|'[^']*'/g, ' ');
  for (const [, name, alias] of words.matchAll(SOURCE)) {
    const table = known.get(unquote(name));
    if (!table) continue;
    found.set(unquote(name), table);
    if (alias && !schema.keywords.includes(alias.toUpperCase())) {
      found.set(unquote(alias), table);
    }
  }
  return {known, found};
}

/** Returns something with a name as an option of the list; `detail` and `info` are text. */
function optionOf({name, detail, info}, type, boost, apply) {
  return {
    label: name, type, boost, apply,
    ...(typeof detail === 'string' ? {detail} : {}),
    ...(typeof info === 'string' ? {info} : {}),
  };
}

/** Returns how an option replaces what was begun with a quote. */
function replaceQuoted(name) {
  return (view, _option, from, to) => {
    const insert = `"${name.replaceAll('"', '""')}"`;
    const closed = view.state.sliceDoc(to, to + 1) === '"' ? 1 : 0;
    view.dispatch({
      changes: {from: from - 1, to: to + closed, insert},
      selection: {anchor: from - 1 + insert.length},
      userEvent: 'input.complete',
    });
  };
}

/** Writes a function's name and its opening parenthesis. */
function applyFunction(view, option, from, to) {
  const opened = view.state.sliceDoc(to, to + 1) === '(';
  view.dispatch({
    changes: {from, to, insert: opened ? option.label : `${option.label}(`},
    selection: {anchor: from + option.label.length + 1},
    userEvent: 'input.complete',
  });
}

/** Returns what can stand at the cursor, or null; it is CodeMirror's source of completions. */
export function completeFrom(context, textarea) {
  const node = syntaxTree(context.state).resolveInner(context.pos, -1);
  if (OUTSIDE.has(node.name)) return null;
  const schema = readSchema(textarea);
  const word = context.matchBefore(/"?[\p{L}\p{N}_$]*$/u);
  const quoted = word.text.startsWith('"');
  const from = word.from + (quoted ? 1 : 0);
  const before = context.state.sliceDoc(Math.max(0, word.from - 300), word.from);
  const parent = new RegExp(`(${NAME})\\s*\\.\\s*$`, 'u').exec(before);
  if (!parent && !word.text && !context.explicit) return null;
  const validFor = /^[\p{L}\p{N}_$]*$/u;
  const {known, found} = tablesIn(context.state.doc.toString(), schema);
  const applied = (name) => (quoted ? replaceQuoted(name) : quote(name, schema));
  const columnsOf = (table, boost) =>
    table.columns.map((each) => optionOf(each, 'property', boost, applied(each.name)));
  if (parent) {
    const table = found.get(unquote(parent[1])) ?? known.get(unquote(parent[1]));
    return table ? {from, validFor, options: columnsOf(table, 0)} : null;
  }
  const read = new Set(found.values());
  const options = [
    ...[...read].flatMap((table) => columnsOf(table, 3)),
    ...schema.tables.map((each) => optionOf(each, 'class', 2, applied(each.name))),
    ...(read.size ? [] : schema.tables.flatMap((table) => columnsOf(table, 1))),
  ];
  if (!quoted) {
    options.push(
      ...schema.functions.map((each) => optionOf(each, 'function', 0, applyFunction)),
      ...schema.keywords.map((label) => ({label, type: 'keyword', boost: -1})),
    );
  }
  return {from, validFor, options};
}
