import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { aliasesOf, askedPath, knownEnvironment, NO_ALIASES, ownPath } from './index.ts'

const PACKAGES = join(import.meta.dirname, '../../..')
const OTHER_PRODUCTS = /nomad|hashicorp|\bconsul\b|vault|sentinel|\btfe\b|\btfp-/i

test('names of other products are written in this folder and nowhere else', () => {
  const files = globSync('*/src/**/*.{ts,tsx}', { cwd: PACKAGES }).filter(
    (file) => !file.startsWith('reeve/src/compat/') && !/\.test\.tsx?$/.test(file),
  )
  assert.ok(files.length > 500, 'the sources were found')
  const found = files.filter((file) =>
    OTHER_PRODUCTS.test(readFileSync(join(PACKAGES, file), 'utf8')),
  )
  assert.deepEqual(found, [])
})

test('aliases: without compatibility there are none', () => {
  assert.equal(aliasesOf(false), NO_ALIASES)
  const { address, environments } = NO_ALIASES.commandLine
  assert.deepEqual([address, environments], ['REEVE_ADDR', []])
})

const { variableDirectories } = aliasesOf(true).http

test('paths: a directory has two names, and whoever asks by one is answered by it', () => {
  const cases = [
    ['nomad/jobs/web', 'service/jobs/web'],
    ['nomad', 'service'],
    ['nomads/jobs', 'nomads/jobs'],
    ['service/jobs', 'service/jobs'],
    ['', ''],
  ] as const
  for (const [asked, own] of cases) {
    assert.equal(ownPath(variableDirectories, asked), own)
    assert.equal(askedPath(variableDirectories, own, asked), asked)
  }
})

const { commandLine } = aliasesOf(true)

const environments = [
  {
    name: 'the variables of another program are read where ours are not set',
    given: { NOMAD_ADDR: 'http://a', NOMAD_TOKEN: 't', REEVE_TOKEN: '' },
    known: { REEVE_ADDR: 'http://a', REEVE_TOKEN: 't' },
  },
  {
    name: 'a token for one server is not sent to the one that ours name',
    given: { REEVE_ADDR: 'http://b', NOMAD_ADDR: 'http://a', NOMAD_TOKEN: 't' },
    known: { REEVE_ADDR: 'http://b', REEVE_TOKEN: undefined },
  },
  {
    name: 'address and token come from the same program',
    given: { TFE_ADDRESS: 'http://c', TFE_TOKEN: 'c', NOMAD_TOKEN: 't' },
    known: { REEVE_ADDR: 'http://c', REEVE_TOKEN: 'c' },
  },
  {
    name: 'a token alone is for the default address',
    given: { NOMAD_TOKEN: 't', NOMAD_NAMESPACE: 'n' },
    known: { REEVE_ADDR: undefined, REEVE_TOKEN: 't', REEVE_NAMESPACE: 'n' },
  },
]
for (const { name, given, known } of environments)
  test(`environment: ${name}`, () => {
    const found = knownEnvironment(commandLine, given)
    for (const [variable, value] of Object.entries(known)) assert.equal(found[variable], value)
    assert.equal(knownEnvironment(NO_ALIASES.commandLine, given), given)
  })
