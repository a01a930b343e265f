import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  aliasesOf,
  canonicalPath,
  NO_ALIASES,
  pathAsRequested,
  translateEnvironment,
} from './index.ts'

const PACKAGES = join(import.meta.dirname, '../../..')
const OTHER_PRODUCTS = /nomad|hashicorp|\bconsul\b|vault|sentinel|\btfe\b|\btfp-/i

test('names of other products occur only in this folder', () => {
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

test('paths: a response uses the directory name of the request', () => {
  const cases = [
    ['nomad/jobs/web', 'service/jobs/web'],
    ['nomad', 'service'],
    ['nomads/jobs', 'nomads/jobs'],
    ['service/jobs', 'service/jobs'],
    ['', ''],
  ] as const
  for (const [requested, canonical] of cases) {
    assert.equal(canonicalPath(variableDirectories, requested), canonical)
    assert.equal(pathAsRequested(variableDirectories, canonical, requested), requested)
  }
})

const { commandLine } = aliasesOf(true)

const environments = [
  {
    name: 'the variables of another program are used if those of Reeve are not set',
    given: { NOMAD_ADDR: 'http://a', NOMAD_TOKEN: 't', REEVE_TOKEN: '' },
    known: { REEVE_ADDR: 'http://a', REEVE_TOKEN: 't' },
  },
  {
    name: 'a token of another program is not sent to the server in REEVE_ADDR',
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
    const found = translateEnvironment(commandLine, given)
    for (const [variable, value] of Object.entries(known)) assert.equal(found[variable], value)
    assert.equal(translateEnvironment(NO_ALIASES.commandLine, given), given)
  })
