// Builds the vendored browser code of the console from the packages that the lock file names.
//
//     npm ci && node build.mjs            writes the files
//     npm ci && node build.mjs --check    builds twice, and compares with the committed files
//
// The same lock file gives the same bytes. Each folder that is written to has a vendored.json,
// which says for each file which packages of npm are in it, with their versions, licences and
// integrity hashes, and a THIRD_PARTY_LICENSES.txt. A package without one stops the build.

import {createHash} from 'node:crypto';
import {existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';

import * as esbuild from 'esbuild';

const HERE = dirname(fileURLToPath(import.meta.url));
const ROOT = join(HERE, '..', '..');
const LOCKED = JSON.parse(readFileSync(join(HERE, 'package-lock.json'), 'utf8')).packages;

/** The licences that have been looked at: each lets us ship copies with its text. */
const ALLOWED = new Set(['0BSD', 'BSD-3-Clause', 'ISC', 'MIT', 'MPL-2.0', 'Unlicense']);

/** Each folder with its files: a file of a package as it is, or a bundle of an entry point. */
const FOLDERS = {
  'src/tacit/server/console/static': {
    'charts.min.js': {entry: 'charts.js'},
    'editor.min.js': {entry: 'editor.js'},
    'htmx.min.js': {copied: 'htmx.org/dist/htmx.min.js'},
  },
  'tests/console/vendor': {
    'axe.min.js': {copied: 'axe-core/axe.min.js'},
  },
};

/** Returns the name of the package that a path inside node_modules belongs to. */
function packageOf(path) {
  const parts = path.split('node_modules/').pop().split('/');
  return parts.slice(0, parts[0].startsWith('@') ? 2 : 1).join('/');
}

/** Returns a bundle's bytes and the packages of which at least one byte is in it. */
async function bundle(entry) {
  const built = await esbuild.build({
    absWorkingDir: HERE,
    alias: {vega: './vega.js'},
    banner: {js: '/* Tacit console. Third parties: THIRD_PARTY_LICENSES.txt */'},
    bundle: true,
    entryPoints: [entry],
    format: 'iife',
    legalComments: 'none',
    metafile: true,
    minify: true,
    outfile: 'bundle.js',
    target: 'es2022',
    write: false,
  });
  const [output] = Object.values(built.metafile.outputs);
  const inside = Object.entries(output.inputs)
    .filter(([path, {bytesInOutput}]) => bytesInOutput > 0 && path.includes('node_modules/'))
    .map(([path]) => packageOf(path));
  const bytes = Buffer.from(built.outputFiles[0].contents);
  return {bytes, packages: [...new Set(inside)].sort()};
}

/** Returns what is recorded of a package: version, licence and the hash of its tarball. */
function recordOf(name) {
  const {version, license} = JSON.parse(
    readFileSync(join(HERE, 'node_modules', name, 'package.json'), 'utf8'));
  const locked = LOCKED[`node_modules/${name}`];
  if (locked?.version !== version) throw new Error(`${name} ${version} is not what is locked`);
  if (!ALLOWED.has(license)) throw new Error(`look at the licence of ${name}: ${license}`);
  return {version, licence: license, integrity: locked.integrity};
}

/** Returns the text of all licence files of a package. */
function licenceTextOf(name) {
  const folder = join(HERE, 'node_modules', name);
  const wanted = /^(licen[cs]e|copying|notice)/i;
  const files = readdirSync(folder).filter((file) => wanted.test(file));
  if (!files.length) throw new Error(`${name} has no licence file`);
  return files.sort().map((file) => readFileSync(join(folder, file), 'utf8')
    .replaceAll('\r\n', '\n').replace(/[ \t]+$/gm, '').trim()).join('\n\n');
}

/** Returns the licences of packages; those with the same text stand together. */
function licencesOf(records) {
  const byText = new Map();
  for (const [name, {version, licence}] of Object.entries(records).sort()) {
    const text = licenceTextOf(name);
    byText.set(text, [...(byText.get(text) ?? []), `${name} ${version} (${licence})`]);
  }
  const parts = [...byText].map(([text, names]) => `${names.join('\n')}\n\n${text}\n`);
  const head = 'The files that vendored.json lists contain these packages of npm, ' +
    'under these licences.\n';
  return [head, ...parts].join(`\n${'='.repeat(80)}\n\n`);
}

/** Returns all files, by their path in the repository. */
async function build() {
  const written = {};
  for (const [folder, files] of Object.entries(FOLDERS)) {
    const vendored = {files: {}};
    const records = {};
    for (const [file, {entry, copied}] of Object.entries(files)) {
      const {bytes, packages} = entry ? await bundle(entry) : {
        bytes: readFileSync(join(HERE, 'node_modules', copied)), packages: [packageOf(copied)],
      };
      const inside = Object.fromEntries(packages.map((name) => [name, recordOf(name)]));
      Object.assign(records, inside);
      written[join(folder, file)] = bytes;
      vendored.files[file] = {
        sha256: createHash('sha256').update(bytes).digest('hex'),
        ...(entry ? {entry: `shipping/console/${entry}`, esbuild: esbuild.version} : {copied}),
        npm: inside,
      };
    }
    written[join(folder, 'vendored.json')] =
      Buffer.from(`${JSON.stringify(vendored, null, 2)}\n`);
    written[join(folder, 'THIRD_PARTY_LICENSES.txt')] = Buffer.from(licencesOf(records));
  }
  return written;
}

const checking = process.argv.includes('--check');
const [first, second] = [await build(), await build()];
let wrong = 0;
for (const [path, bytes] of Object.entries(first)) {
  const place = join(ROOT, path);
  const committed = checking && existsSync(place) ? readFileSync(place) : Buffer.alloc(0);
  const same = bytes.equals(second[path]) && (!checking || bytes.equals(committed));
  console.log(`${path}: ${bytes.length} bytes, ${same ? 'reproduced' : 'NOT THE SAME BYTES'}`);
  wrong += same ? 0 : 1;
  if (same && !checking) {
    mkdirSync(dirname(place), {recursive: true});
    writeFileSync(place, bytes);
  }
}
process.exitCode = wrong ? 1 : 0;
