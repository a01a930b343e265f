import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { test } from 'node:test'
import { checkImports } from './arrows.ts'
import { readAreas } from './source/areas.ts'
import { createMemoryRepository } from './source/repository.ts'
import { loadAreas, REPOSITORY_ROOT } from './source/finding.ts'

const areas = readAreas({
  contract: { folder: 'packages/contract/src', doors: ['index.ts', 'v1/index.ts'] },
  kit: { folder: 'packages/app/src/kit', open: true, pure: true },
  model: { folder: 'packages/app/src/model', may: ['contract'], packages: ['typebox'], pure: true },
  http: {
    folder: 'packages/app/src/http',
    may: ['model'],
    types: ['contract'],
    packages: ['fastify'],
    builtins: true,
  },
  main: { folder: 'packages/app/src/main', may: '*', builtins: true },
  words: { folder: 'packages/words/src', pure: true, library: true },
})

const manifests = {
  'package.json': '{ "name": "root", "devDependencies": { "fast-check": "1" } }',
  'packages/app/package.json':
    '{ "name": "app", "dependencies": { "@reeve/contract": "1", "fastify": "1", "typebox": "1", "ws": "1" } }',
  'packages/words/package.json': '{ "name": "@reeve/words", "exports": { "./*": "./src/*" } }',
  'packages/words/src/word.ts': 'export const word = 1\n',
  'packages/contract/package.json': JSON.stringify({
    name: '@reeve/contract',
    exports: { '.': './src/index.ts', './v1': './src/v1/index.ts' },
  }),
  'packages/contract/src/index.ts': "export { job } from './v1/job.ts'\n",
  'packages/contract/src/v1/index.ts': "export { job } from './job.ts'\n",
  'packages/contract/src/v1/job.ts': 'export const job = 1\n',
  'packages/app/src/kit/clock.ts': 'export const clock = 1\n',
  'packages/app/src/model/index.ts': "export * from './job.ts'\n",
  'packages/app/src/model/job.ts': 'export const job = 1\n',
  'packages/app/test/build/job.ts': "import { job } from '../../src/model/job.ts'\n",
}

/** The complaints about `files` in a repository that is otherwise in order. */
function complaintsAbout(files: Readonly<Record<string, string>>): string[] {
  const findings = checkImports(createMemoryRepository({ ...manifests, ...files }), areas)
  return findings.map(({ path, line, message }) => `${path}:${line} ${message}`)
}

const model = 'packages/app/src/model/a.ts'
const http = 'packages/app/src/http/a.ts'
const main = 'packages/app/src/main/a.ts'
const words = 'packages/words/src/a.ts'

const allowed: readonly [name: string, path: string, text: string][] = [
  ['an arrow of the drawing', http, "import { job } from '../model/index.ts'"],
  ['kit from everywhere, by file', model, "import { clock } from '../kit/clock.ts'"],
  ['everything from main', main, "import { job } from '../model/index.ts'"],
  ['a package by its name', model, "import { job } from '@reeve/contract'"],
  ['a second door of a package', model, "import { job } from '@reeve/contract/v1'"],
  ['types over a type-only arrow', http, "import type { Job } from '@reeve/contract'"],
  ['inline types over a type-only arrow', http, "import { type Job } from '@reeve/contract'"],
  ['a file of the own folder', model, "import { job } from './job.ts'"],
  ['builtins where the area may', http, "import fs from 'node:fs'"],
  ['a declared package that the area may', model, "import { Type } from 'typebox'"],
  ['a subpath of such a package', model, "import { Value } from 'typebox/value'"],
  ['imports that are only text', model, "const s = `import fs from 'node:fs'` // import 'ws'"],
  ['an address that is no module', model, "new URL('../..', import.meta.url)"],
  ['builtins in a test', 'packages/app/src/model/a.test.ts', "import t from 'node:test'"],
  ['development packages in a test', 'packages/app/src/model/a.test.ts', "import 'fast-check'"],
  ['builders in a test', 'packages/app/src/model/a.test.ts', "import '../../test/build/job.ts'"],
  ['anything in test/', 'packages/app/test/a.ts', "import 'node:fs'; import '../src/kit/clock.ts'"],
]
for (const [name, path, text] of allowed)
  test(`arrows: allow ${name}`, () => {
    assert.deepEqual(complaintsAbout({ [path]: text }), [])
  })

const forbidden: readonly [name: string, path: string, text: string, complaint: RegExp][] = [
  ['another folder', model, "import '../main/b.ts'", /^.*a\.ts:1 model may not import main$/],
  ['a re-export from another folder', model, "export * from '../main/b.ts'", /model may not/],
  ['a type from another folder', model, "import type { B } from '../main/b.ts'", /model may not/],
  ['a type named in place', model, "type B = import('../main/b.ts').B", /model may not/],
  ['a lazy import of another folder', model, "await import('../main/b.ts')", /model may not/],
  ['a template as specifier', model, 'await import(`../main/b.ts`)', /model may not/],
  ['a worker of another folder', model, "new URL('../main/b.ts', import.meta.url)", /model may/],
  ['a value over a type-only arrow', http, "import '@reeve/contract'", /only types of contract/],
  ['a folder not by its door', http, "import '../model/job.ts'", /enter model through its door/],
  ['the own door', model, "import './index.ts'", /never your own door/],
  ['the own door from below', 'packages/app/src/model/x/a.ts', "import '../index.ts'", /own door/],
  ['a builtin in a pure folder', model, "import 'node:fs'", /model is pure/],
  ['a builtin without its prefix', model, "import 'fs'", /model is pure/],
  ['a package the area may not use', http, "import 'ws'", /http may not import the package ws/],
  ['an undeclared package', http, "import 'left-pad'", /left-pad is not a dependency of app/],
  ['a development package', http, "import 'fast-check'", /fast-check is not a dependency/],
  ['a package by its path', model, "import '../../../contract/src/index.ts'", /by its name/],
  ['a file that is not there', model, "import './gone.ts'", /names no file/],
  ['a subpath that is not exported', model, "import '@reeve/contract/src/a.ts'", /names no file/],
  ['test code in the product', model, "import '../../test/build/job.ts'", /may not import/],
  ['a package that is not declared', main, "import '@reeve/words/word.ts'", /not a dependency/],
  ['the product in a library', words, "import '@reeve/contract'", /not a dependency of @reeve\/w/],
  ['the product by its path', words, "import '../../app/src/model/index.ts'", /by its name/],
  ['the product in its tests', 'packages/words/test/a.ts', "import '@reeve/contract'", /depend/],
  ['a file outside the areas', 'packages/app/src/x/a.ts', '', /belongs to no area/],
  ['work in a door', 'packages/app/src/http/index.ts', 'export const a = 1', /only re-exports/],
  ['text that does not parse', model, 'const = 1', /Unexpected/],
]
for (const [name, path, text, complaint] of forbidden)
  test(`arrows: forbid ${name}`, () => {
    const found = complaintsAbout({ 'packages/app/src/main/b.ts': '', [path]: text })
    assert.equal(found.length, 1, found.join('\n'))
    assert.match(found[0] ?? '', complaint)
  })

test('arrows: the line of the import is named', () => {
  const [found] = complaintsAbout({ [model]: "// first\n\nimport 'node:fs'\n" })
  assert.match(found ?? '', /a\.ts:3 /)
})

test('arrows: a cycle is shown by its shortest way, type-only imports included', () => {
  const found = complaintsAbout({
    [model]: "import './b.ts'\n",
    'packages/app/src/model/b.ts': "import type { C } from './c.ts'\nimport './job.ts'\n",
    'packages/app/src/model/c.ts': "import './a.ts'\nimport './b.ts'\n",
  })
  const at = (name: string) => `packages/app/src/model/${name}.ts`
  assert.deepEqual(found, [`${at('a')}:1 ${['a', 'b', 'c', 'a'].map(at).join(' ► ')}`])
})

test('arrows: a worker that names its own starter is no cycle', () => {
  const found = complaintsAbout({
    [model]: "new URL('./b.ts', import.meta.url)\n",
    'packages/app/src/model/b.ts': "import './a.ts'\n",
  })
  assert.deepEqual(found, [])
})

const broken: readonly [name: string, config: unknown][] = [
  ['an unknown field', { a: { folder: 'a', mya: [] } }],
  ['an unknown area', { a: { folder: 'a', may: ['b'] } }],
  ['no folder', { a: {} }],
  ['a list that is none', { a: { folder: 'a', may: 'b' } }],
  [
    'a library over the product',
    { a: { folder: 'a', types: ['b'], library: true }, b: { folder: 'b' } },
  ],
]
for (const [name, config] of broken)
  test(`arrows: a configuration with ${name} is refused`, () => {
    assert.throws(() => readAreas(config), /^Error: arrows: /)
  })

test('arrows: the pure areas are those that compile without host types', async () => {
  const config: unknown = JSON.parse(
    readFileSync(join(REPOSITORY_ROOT, 'packages/reeve/tsconfig.core.json'), 'utf8'),
  )
  assert.ok(typeof config === 'object' && config !== null && 'include' in config)
  const { all } = await loadAreas()
  const pure = all.filter((area) => area.pure).map(({ folder }) => folder)
  assert.deepEqual(
    pure.map((folder) => posix.relative('packages/reeve', folder)),
    config.include,
  )
})
