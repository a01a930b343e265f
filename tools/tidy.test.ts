import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readAreas } from './source/areas.ts'
import { createMemoryRepository } from './source/repository.ts'
import { tidy } from './tidy.ts'

const areas = readAreas({
  model: { folder: 'packages/reeve/src/model', pure: true },
  http: { folder: 'packages/reeve/src/http' },
})
type Files = Readonly<Record<string, string>>

/** Where the rule complains, as `path:line`. */
function placesOf(rule: string, files: Files): string[] {
  const findings = tidy(createMemoryRepository(files), areas)
  return findings.filter((one) => one.rule === rule).map(({ path, line }) => `${path}:${line}`)
}

/** The lines of one source file where the rule complains. */
function linesOf(rule: string, text: string, path = 'packages/reeve/src/model/a.ts') {
  const places = placesOf(rule, { [path]: text })
  return places.map((place) => Number(place.slice(path.length + 1)))
}

const repeat = (text: string, count: number) => `${text}\n`.repeat(count)

interface Case {
  readonly name: string
  readonly text: string
  readonly lines: readonly number[]
  readonly path?: string
}

function table(rule: string, cases: readonly Case[]): void {
  for (const { name, text, lines, path } of cases)
    test(`tidy ${rule}: ${name}`, () => {
      assert.deepEqual(linesOf(rule, text, path), lines)
    })
}

table('line-length', [
  { name: '100 columns fit', text: `// ${'x'.repeat(97)}\n`, lines: [] },
  { name: '101 columns do not', text: `\n// ${'x'.repeat(98)}\n`, lines: [2] },
  { name: 'a wide character is one column', text: `// ${'😀'.repeat(97)}\n`, lines: [] },
  {
    name: 'an address cannot be broken',
    text: `// https://a.example/${'x'.repeat(99)}`,
    lines: [],
  },
  { name: 'inside a template it is data', text: `f(\`\n${'x'.repeat(120)}\n\`)`, lines: [] },
  { name: 'where a template starts it is code', text: `f(\`${'x'.repeat(120)}\n\`)`, lines: [1] },
  { name: 'a text is not broken', text: `f('${'x'.repeat(120)}')`, lines: [] },
  { name: 'the code around a text still counts', text: `f(${'a, '.repeat(40)}'text')`, lines: [1] },
])

table('file-length', [
  { name: '500 lines fit', text: repeat('f()', 500), lines: [] },
  { name: '501 do not', text: repeat('f()', 501), lines: [1] },
])

const longBody = repeat('  f()', 69)
const tricky = "  f('}', `}${'{'}`, /[}/]}/, '\\'}') // } {\n  /* } */"
table('function-length', [
  { name: '70 lines fit', text: `function a() {\n${repeat('f()', 68)}}`, lines: [] },
  { name: '71 do not', text: `f()\nfunction a() {\n${longBody}}`, lines: [2] },
  { name: 'an arrow function counts', text: `const a = () => {\n${longBody}}`, lines: [1] },
  { name: 'a method counts', text: `class A {\n  a() {\n${longBody}  }\n}`, lines: [2] },
  {
    name: 'braces in strings, templates, expressions and comments do not end a function',
    text: `function a() {\n${tricky}\n${longBody}}\nfunction b() {}`,
    lines: [1],
  },
  { name: 'a class is not a function', text: `class A {\n${repeat('  a() {}', 80)}}`, lines: [] },
  {
    name: 'a function that returns a table is exempt',
    text: `const a = (x: 1) => ({\n${repeat('  a: x,', 80)}})`,
    lines: [],
  },
  {
    name: 'one that works first is not',
    text: `function a() {\n  f()\n  return [\n${repeat('    1,', 70)}  ]\n}`,
    lines: [1],
  },
  {
    name: 'tests are exempt',
    text: `test('a', () => {\n${longBody}})`,
    lines: [],
    path: 'packages/reeve/src/model/a.test.ts',
  },
  {
    name: 'schemas are exempt',
    text: `function a() {\n${longBody}}`,
    lines: [],
    path: 'packages/contract/src/a.ts',
  },
])

table('parameters', [
  { name: 'five are allowed', text: 'function a(b: 1, c: 1, d: 1, e: 1, f: 1) {}', lines: [] },
  { name: 'six are not', text: 'function a(b: 1, c: 1, d: 1, e: 1, f: 1, g: 1) {}', lines: [1] },
  { name: 'this is none', text: 'function a(this: A, b: 1, c: 1, d: 1, e: 1, f: 1) {}', lines: [] },
  {
    name: 'a signature counts',
    text: 'interface A {\n  a(b: 1, c: 1, d: 1, e: 1, f: 1, g: 1): void\n}',
    lines: [2],
  },
  {
    name: 'a function type counts',
    text: 'type A = (b: 1, c: 1, d: 1, e: 1, f: 1, g: 1) => void',
    lines: [1],
  },
])

table('any', [
  {
    name: 'the type is not allowed',
    text: 'const a: any = 1\nfunction f(b: any[]) {}',
    lines: [1, 2],
  },
  { name: 'the word is', text: "// any\nconst any = 'any'", lines: [] },
])

table('assertion', [
  { name: 'no "!"', text: 'const a = b!.c', lines: [1] },
  { name: 'no "!:"', text: 'let a!: string', lines: [1] },
  { name: 'a negation is none', text: 'const a = !b && c !== d', lines: [] },
])

table('cast', [
  { name: 'a cast needs a comment', text: 'const a = b as C', lines: [1] },
  { name: 'on the same line', text: 'const a = b as C // C is what b holds', lines: [] },
  { name: 'or on the one before', text: '// C is what b holds\nconst a = b as C', lines: [] },
  { name: 'but not further up', text: '// C is what b holds\n\nconst a = b as C', lines: [3] },
  {
    name: 'a comment above the statement serves',
    text: '// why\nconst a = f(\n  b as C,\n)',
    lines: [],
  },
  {
    name: 'a comment above a table does not serve its rows',
    text: '// why\nconst a = {\n  b: 1,\n  c: d as E,\n}',
    lines: [4],
  },
  {
    name: 'an order to a tool is no proof',
    text: '// oxlint-disable-line\nconst a = b as C',
    lines: [2],
  },
  { name: 'as const is none', text: 'const a = [1] as const', lines: [] },
  { name: 'renaming is none', text: "import { a as b } from './b.ts'", lines: [] },
  { name: 'two on a line are one finding', text: 'const a = b as unknown as C', lines: [1] },
])

table('default-export', [
  { name: 'not allowed', text: 'export default 1', lines: [1] },
  { name: 'nor by renaming', text: 'const a = 1\nexport { a as default }', lines: [2] },
  { name: 'configuration may', text: 'export default {}', lines: [], path: 'web.config.ts' },
])

table('purity', [
  { name: 'the clock', text: 'f(Date.now())\nf(new Date())\nf(Date())', lines: [1, 2, 3] },
  { name: 'chance', text: 'f(Math.random())', lines: [1] },
  { name: 'the locale', text: 'a.localeCompare(b)', lines: [1] },
  { name: 'a conversion is pure', text: 'f(new Date(ms).toISOString(), Math.max(1))', lines: [] },
  {
    name: 'tests of pure code are held to it',
    text: 'f(Date.now())',
    lines: [1],
    path: 'packages/reeve/src/model/a.test.ts',
  },
  {
    name: 'other folders may',
    text: 'f(Date.now())',
    lines: [],
    path: 'packages/reeve/src/http/a.ts',
  },
])

const testFile = 'packages/reeve/src/http/a.test.ts'
table('skipped-test', [
  { name: 'only is never allowed', text: "// why\ntest.only('a', f)", lines: [2], path: testFile },
  { name: 'skip needs a reason', text: "test.skip('a', f)", lines: [1], path: testFile },
  {
    name: 'a comment above is one',
    text: "// no such disk\ntest.skip('a', f)",
    lines: [],
    path: testFile,
  },
  {
    name: 'the option needs one',
    text: "test('a', { skip: true }, f)",
    lines: [1],
    path: testFile,
  },
  { name: 'a text is one', text: "test('a', { skip: 'no disk' }, f)", lines: [], path: testFile },
  { name: 'so is that of a running test', text: "t.skip('no disk')", lines: [], path: testFile },
  { name: 'other things have skips too', text: 'list.skip(3)', lines: [], path: testFile },
])

table('name', [
  {
    name: 'a file may not be called after nothing',
    text: '',
    lines: [1],
    path: 'tools/string-utils.ts',
  },
  { name: 'nor a folder', text: '', lines: [1], path: 'tools/common/a.ts' },
  { name: 'a longer word may hold one', text: '', lines: [], path: 'tools/commonly.ts' },
])

table('todo', [
  { name: 'needs an issue', text: '// TODO later\n/*\n * FIXME\n */', lines: [1, 3] },
  { name: 'with one it may stay', text: '// TODO(#12) later\n// TODO #12: later', lines: [] },
  { name: 'in a string it is data', text: "const a = 'TODO'", lines: [] },
])

const vendor = ['No', 'mad'].join('')
table('vendor', [
  { name: 'code', text: `const ${vendor.toLowerCase()}Job = 1`, lines: [1] },
  { name: 'a word that begins alike is none', text: '// consult the fault table', lines: [] },
  { name: 'documents', text: `# A\n${vendor}\n`, lines: [2], path: 'docs/a.md' },
  { name: 'where it is the subject', text: vendor, lines: [], path: 'docs/compatibility.md' },
  { name: 'names of files', text: '', lines: [1], path: `tools/${vendor.toLowerCase()}.ts` },
])

const SECTION = '\u00a7'

table('citation', [
  { name: 'of a numbered section', text: `// Reference ${SECTION}4.2: ten are kept.`, lines: [1] },
  { name: 'in the middle of a block', text: `\n/**\n * See ${SECTION}3.\n */`, lines: [3] },
  { name: 'in a string', text: `const a = 'as ${SECTION}1 says'`, lines: [1] },
  {
    name: 'of a standard',
    text: `// RFC 9110 ${SECTION}7.6.1: headers of a connection`,
    lines: [],
  },
  {
    name: 'beside a standard',
    text: `// ${SECTION}2 follows RFC 9110 ${SECTION}7.6.1`,
    lines: [1],
  },
  { name: 'in a document', text: `a\nsee ${SECTION}2\n`, lines: [2], path: 'docs/a.md' },
])

test('tidy syntax: a file that does not parse is a finding', () => {
  assert.deepEqual(linesOf('syntax', 'f()\nconst = 1'), [2])
})

test('tidy dead-file: what no entry leads to', () => {
  const files = {
    'packages/reeve/src/main/reeve.ts': "import '../http/a.ts'\nawait import('../http/lazy.ts')",
    'packages/reeve/src/http/a.ts': "new Worker(new URL('./worker.ts', import.meta.url))",
    'packages/reeve/src/http/lazy.ts': '',
    'packages/reeve/src/http/worker.ts': "import type { T } from './types.ts'",
    'packages/reeve/src/http/types.ts': '',
    'packages/reeve/src/http/dead.ts': "import './dead-too.ts'",
    'packages/reeve/src/http/dead-too.ts': '',
    'packages/reeve/src/http/a.test.ts': "import '../../test/build/job.ts'",
    'packages/reeve/test/build/job.ts': '',
    'packages/reeve/test/build/unused.ts': '',
    'packages/reeve/bench/a.bench.ts': '',
    'packages/sdk/package.json': '{ "name": "sdk", "exports": { ".": "./src/index.ts" } }',
    'packages/sdk/src/index.ts': "export * from './client.ts'",
    'packages/sdk/src/client.ts': '',
    'tools/a.mjs': "require('./b/c.cjs')",
    'tools/b/c.cjs': '',
  }
  assert.deepEqual(placesOf('dead-file', files), [
    'packages/reeve/src/http/dead-too.ts:1',
    'packages/reeve/src/http/dead.ts:1',
    'packages/reeve/test/build/unused.ts:1',
  ])
})

test('tidy dead-export: what nobody imports', () => {
  const files = {
    'packages/reeve/src/main/reeve.ts': [
      "import { used, type Used, viaStar } from '../http/index.ts'",
      "import * as whole from '../http/whole.ts'",
    ].join('\n'),
    'packages/reeve/src/http/index.ts': [
      "export { used, deadAtDoor, type Used } from './a.ts'",
      "export * from './star.ts'",
    ].join('\n'),
    'packages/reeve/src/http/a.ts': [
      'export const used = 1',
      'export const deadAtDoor = 1',
      'export interface Used {}',
      'export const { dead, other: [deep] } = f()',
      'export function alsoDead() {}',
      'export const Twice = 1',
      'export type Twice = typeof Twice',
    ].join('\n'),
    'packages/reeve/src/http/star.ts': 'export const viaStar = 1\nexport const unseen = 1',
    'packages/reeve/src/http/whole.ts': 'export const anything = 1',
    'packages/sdk/package.json': '{ "name": "sdk", "exports": { ".": "./src/index.ts" } }',
    'packages/sdk/src/index.ts': "export * from './client.ts'",
    'packages/sdk/src/client.ts': 'export const client = 1',
  }
  assert.deepEqual(placesOf('dead-export', files).toSorted(), [
    'packages/reeve/src/http/a.ts:4',
    'packages/reeve/src/http/a.ts:4',
    'packages/reeve/src/http/a.ts:5',
    'packages/reeve/src/http/a.ts:6',
    'packages/reeve/src/http/index.ts:1',
    'packages/reeve/src/http/star.ts:2',
  ])
})

const links: readonly [link: string, isBroken: boolean][] = [
  ['[a](b.md)', false],
  ['[a](b.md#second-part-1)', false],
  ['[a](#here)', false],
  ['[a](../tools)', false],
  ['[a](./b%2Emd "title")', false],
  ['[a](https://a.example/gone)', false],
  ['[a](mailto:a@a.example)', false],
  ['`[a](gone.md)`', false],
  ['![a](gone.png)', true],
  ['[a](gone.md)', true],
  ['[a](b.md#gone)', true],
  ['[a](#gone)', true],
  ['[a](../../outside.md)', true],
  ['[a](%)', true],
  ['[a]: gone.md', true],
]
for (const [link, isBroken] of links)
  test(`tidy link: ${link} is ${isBroken ? 'broken' : 'sound'}`, () => {
    const found = placesOf('link', {
      'docs/a.md': `# Here\n\`\`\`\n[a](gone.md)\n\`\`\`\n${link}\n`,
      'docs/b.md': '# `Second` part\n# Second: part\n',
      'tools/a.ts': '',
    })
    assert.deepEqual(found, isBroken ? ['docs/a.md:5'] : [])
  })

test('tidy unlinked-page: every page of docs is linked by another one', () => {
  const found = placesOf('unlinked-page', {
    'README.md': '[a](docs/)',
    'docs/README.md': '[b](b.md)',
    'docs/b.md': '',
    'docs/c.md': '[itself](c.md)',
    'packages/a/README.md': '',
  })
  assert.deepEqual(found, ['docs/c.md:1'])
})

const phrases: readonly [text: string, line: number | undefined][] = [
  ['/** Returns the row that is stored. */', undefined],
  ['/** What is this for? It counts. */', undefined],
  ['/** What it counts. */', 1],
  ['/**\n * Counts rows. What it\n * counts is stored.\n */', 2],
  ['/**\n * A heading\n *\n * What it counts is stored.\n */', 4],
  ['// Streams are told\n', 1],
  ['/* A field whose name\n * nobody knows. */', 2],
]
for (const [text, line] of phrases)
  test(`tidy phrase: ${JSON.stringify(text)}`, () => {
    const found = placesOf('phrase', { 'packages/kit/src/a.ts': text })
    assert.deepEqual(found, line === undefined ? [] : [`packages/kit/src/a.ts:${line}`])
    assert.deepEqual(placesOf('phrase', { 'packages/other/src/a.ts': text }), [])
  })

test('tidy phrase: documents are checked, their code is not', () => {
  const text =
    '# What to do\n\n```sh\necho nobody\n```\n\nIt is asked\nagain: nobody waits.\n\nWhat lasts is stored.\n'
  assert.deepEqual(placesOf('phrase', { 'packages/kit/README.md': text }), [
    'packages/kit/README.md:7',
    'packages/kit/README.md:8',
    'packages/kit/README.md:10',
  ])
})

const longFile = repeat('f()', 500)
const allows: readonly [name: string, first: string, left: string[]][] = [
  ['an exception with a reason holds', '// tidy-allow file-length: one table', []],
  ['it may name several rules', '// tidy-allow file-length, any: one table of any', []],
  ['without a reason it is a finding', '// tidy-allow file-length', ['tidy-allow']],
  ['so is one for an unknown rule', '// tidy-allow length: why', ['tidy-allow', 'file-length']],
  ['and one that is not needed', '// tidy-allow file-length, todo: why', ['tidy-allow']],
]
for (const [name, first, left] of allows)
  test(`tidy tidy-allow: ${name}`, () => {
    const text = first.includes('any') ? `let a: any\n${longFile}` : longFile
    const found = tidy(createMemoryRepository({ 'tools/a.ts': `${first}\n${text}` }), areas)
    assert.deepEqual(found.map(({ rule }) => rule).toSorted(), left.toSorted())
  })

test('tidy tidy-allow: below the first line it is only a comment', () => {
  const text = `\n// tidy-allow file-length: why\n${longFile}`
  assert.deepEqual(linesOf('file-length', text), [1])
})
