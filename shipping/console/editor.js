// Turns each <textarea data-editor> into an editor of SQL.
//
//   <label for="sql">Question</label>
//   <textarea id="sql" name="sql" rows="6" data-editor data-schema="catalogue"></textarea>
//   <script type="application/json" id="catalogue">{"tables": [...]}</script>
//
// The textarea stays in the page, hidden, as the form's field: it has the editor's text at any
// time, and receives an `input` event at each change and a `change` event when the editor loses
// the focus. A script that writes into the textarea dispatches `change`, and the editor shows
// the text. Without scripts the textarea works by itself.
//
// Tab leaves the editor; Ctrl-Space opens completion and Escape closes it. The label, the
// description (aria-describedby), readonly, placeholder, rows and maxlength are taken over. The
// stylesheet colours the text by Lezer's classes: tok-keyword, tok-string, tok-number,
// tok-comment, tok-operator, tok-typeName. CodeMirror adds one <style> element, for which it
// needs the nonce of the policy: <meta name="csp-nonce" content="...">.

import {autocompletion, completionKeymap} from '@codemirror/autocomplete';
import {defaultKeymap, history, historyKeymap} from '@codemirror/commands';
import {SQLDialect} from '@codemirror/lang-sql';
import {bracketMatching, syntaxHighlighting} from '@codemirror/language';
import {EditorState} from '@codemirror/state';
import {
  EditorView, highlightSpecialChars, keymap, lineNumbers, placeholder,
} from '@codemirror/view';
import {classHighlighter} from '@lezer/highlight';

import {completeFrom, readSchema} from './completion.js';

/** Each textarea that has an editor, with the editor's view. */
const editors = new Map();

const THEME = EditorView.theme({
  '&': {backgroundColor: 'var(--sunken)', color: 'var(--text)'},
  '.cm-scroller': {fontFamily: 'var(--mono)', lineHeight: '1.5'},
  '.cm-content': {
    caretColor: 'var(--text)', minHeight: 'calc(var(--rows) * 1lh + 8px)',
  },
  '.cm-gutters': {
    backgroundColor: 'transparent', border: 'none', color: 'var(--muted)',
  },
  '&.cm-focused': {outline: '2px solid var(--accent)', outlineOffset: '2px'},
  '.cm-placeholder': {color: 'var(--muted)'},
  '.cm-specialChar': {color: 'var(--bad)'},
  '&.cm-focused .cm-matchingBracket': {backgroundColor: 'var(--accent-soft)'},
  '&.cm-focused .cm-nonmatchingBracket': {backgroundColor: 'var(--bad-soft)'},
  '.cm-tooltip': {
    backgroundColor: 'var(--surface)', border: '1px solid var(--control)', color: 'var(--text)',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul': {
    fontFamily: 'var(--mono)', maxWidth: 'min(32em, 90vw)',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li': {
    overflow: 'hidden', padding: '3px 8px', textOverflow: 'ellipsis',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]': {
    backgroundColor: 'var(--accent-soft)', color: 'var(--text)',
  },
  '.cm-completionLabel, .cm-completionDetail': {unicodeBidi: 'isolate'},
  '.cm-completionDetail': {color: 'var(--muted)', fontStyle: 'normal'},
  '.cm-completionMatchedText': {fontWeight: '600', textDecoration: 'underline'},
});

/** Returns the attributes by which assistive technology names the editor. */
function namesOf(textarea) {
  const labels = [...textarea.labels];
  labels.forEach((label, index) => {
    label.id ||= `${textarea.id || textarea.name}-label-${index}`;
  });
  const named = labels.map((label) => label.id).join(' ');
  const described = textarea.getAttribute('aria-describedby');
  return {
    spellcheck: 'false',
    ...(named ? {'aria-labelledby': named}
      : {'aria-label': textarea.getAttribute('aria-label') || 'SQL'}),
    ...(described ? {'aria-describedby': described} : {}),
  };
}

/** Returns what an editor of this textarea is made of. */
function extensionsOf(textarea) {
  const schema = readSchema(textarea);
  const dialect = SQLDialect.define({
    keywords: schema.keywords.join(' ').toLowerCase(),
    builtin: schema.functions.map((each) => each.name).join(' ').toLowerCase(),
    types: 'boolean date double integer text timestamp',
  });
  const longest = textarea.maxLength < 0 ? Infinity : textarea.maxLength;
  const nonce = document.querySelector('meta[name="csp-nonce"]')?.content;
  return [
    nonce ? EditorView.cspNonce.of(nonce) : [],
    lineNumbers(),
    highlightSpecialChars(),
    history(),
    dialect.language,
    syntaxHighlighting(classHighlighter),
    bracketMatching(),
    autocompletion({icons: false, override: [(context) => completeFrom(context, textarea)]}),
    keymap.of([...completionKeymap, ...defaultKeymap, ...historyKeymap]),
    EditorView.lineWrapping,
    EditorView.contentAttributes.of(namesOf(textarea)),
    EditorView.editorAttributes.of({style: `--rows: ${textarea.rows}`}),
    EditorState.readOnly.of(textarea.readOnly || textarea.disabled),
    EditorState.transactionFilter.of((change) => {
      const [before, after] = [change.startState.doc.length, change.newDoc.length];
      return after > longest && after > before ? [] : change;
    }),
    textarea.placeholder ? placeholder(textarea.placeholder) : [],
    EditorView.updateListener.of((update) => {
      if (!update.docChanged || textarea.value === update.state.doc.toString()) return;
      textarea.value = update.state.doc.toString();
      textarea.dispatchEvent(new Event('input', {bubbles: true}));
    }),
    EditorView.domEventHandlers(changeEvents(textarea)),
    EditorView.domEventHandlers({beforeinput: replaceSelected}),
    THEME,
  ];
}

/**
 * Types over what is selected. A browser that does it would give the new text the style of the
 * old one in a style attribute, which the policy forbids.
 */
function replaceSelected(event, view) {
  const isText = event.inputType === 'insertText' && event.data !== null;
  if (!isText || view.state.selection.main.empty || view.composing) return false;
  event.preventDefault();
  view.dispatch(view.state.replaceSelection(event.data), {userEvent: 'input.type'});
  return true;
}

/** Returns handlers that dispatch `change` when an editor with another text is left. */
function changeEvents(textarea) {
  let before = textarea.value;
  return {
    focus: () => {
      before = textarea.value;
    },
    blur: () => {
      if (textarea.value !== before) {
        textarea.dispatchEvent(new Event('change', {bubbles: true}));
      }
    },
  };
}

/** Shows the text of the textarea in its editor. */
function show(textarea) {
  const view = editors.get(textarea);
  const {length} = view.state.doc;
  if (textarea.value !== view.state.doc.toString()) {
    view.dispatch({changes: {from: 0, to: length, insert: textarea.value}});
  }
}

/** Puts an editor in the place of a textarea. */
function replace(textarea) {
  const view = new EditorView({doc: textarea.value, extensions: extensionsOf(textarea)});
  editors.set(textarea, view);
  textarea.after(view.dom);
  const focused = document.activeElement === textarea;
  textarea.hidden = true;
  if (focused || textarea.autofocus) view.focus();
  textarea.addEventListener('change', () => editors.has(textarea) && show(textarea));
  textarea.addEventListener('invalid', () => view.focus());
  textarea.form?.addEventListener('reset', () =>
    setTimeout(() => editors.has(textarea) && show(textarea)));
  for (const label of textarea.labels) label.addEventListener('click', () => view.focus());
}

/** Ends the editor of a textarea that leaves the page. */
function remove(textarea) {
  const view = editors.get(textarea);
  if (!view) return;
  editors.delete(textarea);
  view.destroy();
}

/** Replaces what is new inside an element of the page. */
function replaceInside(element) {
  const inside = [...element.querySelectorAll('textarea[data-editor]')];
  if (element.matches?.('textarea[data-editor]')) inside.push(element);
  for (const textarea of inside) if (!editors.has(textarea)) replace(textarea);
}

function start() {
  replaceInside(document);
  document.addEventListener('htmx:load', (event) => replaceInside(event.target));
  document.addEventListener('htmx:beforeCleanupElement', (event) => remove(event.target));
  // a browser that goes back fills in forms after scripts have run
  window.addEventListener('pageshow', () => [...editors.keys()].forEach(show));
}

if (!window.tacitEditor) {
  window.tacitEditor = {replace: replaceInside};
  if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', start);
  else start();
}
