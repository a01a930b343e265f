/** No argument is accepted without effect: the parser's schema against the list of effects. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { JOB } from '../../src/jobspec/schema/job.ts'
import type { BlockMapping } from '../../src/jobspec/schema/block-mapping.ts'
import { DESCRIPTIVE, ELSEWHERE, REJECTED, WARNED } from './arguments.ts'
import { OBSERVATIONS } from './observations.ts'

const ROOT = join(import.meta.dirname, '../..')
const RULES = 'src/model/validation/unsupported.test.ts'

/** Every argument as `block.argument`; a table that several blocks use counts once. */
function schemaArguments(): ReadonlySet<string> {
  const found = new Set<string>()
  const seen = new Set<BlockMapping>()
  const walk = (block: string, table: BlockMapping): void => {
    if (seen.has(table)) return
    seen.add(table)
    for (const name of Object.keys(table.attributes)) found.add(`${block}.${name}`)
    for (const [name, row] of Object.entries(table.blocks))
      if (row.form === 'free') found.add(`${block}.${name}`)
      else walk(name, row.table)
  }
  walk('job', JOB)
  return found
}

const listed: readonly (readonly [string, string])[] = [
  ...OBSERVATIONS.flatMap(({ name, observes }) => observes.map((one) => [one, name] as const)),
  ...[...ELSEWHERE, ...REJECTED, ...WARNED].flatMap((entry) =>
    entry.arguments.split(' ').map((one) => [one, entry.test] as const),
  ),
  ...DESCRIPTIVE.map((one) => [one, 'descriptive'] as const),
]

test('every argument of the schema has an effect that a test sees, or is rejected or descriptive', () => {
  const known = new Set(listed.map(([name]) => name))
  const missing = [...schemaArguments()].filter((name) => !known.has(name))
  assert.deepEqual(missing, [], 'add a test that observes them, or reject them')
})

test('the list names no argument that the schema does not have', () => {
  const schema = schemaArguments()
  assert.deepEqual(
    listed.filter(([name]) => !schema.has(name)),
    [],
  )
})

test('no argument is listed twice', () => {
  const names = listed.map(([name]) => name)
  assert.deepEqual(
    names.filter((name, i) => names.indexOf(name) !== i),
    [],
  )
})

test('the tests that the list names exist', () => {
  const texts = new Map<string, string>()
  const textOf = (file: string): string => {
    const text = texts.get(file) ?? readFileSync(join(ROOT, file), 'utf8')
    texts.set(file, text)
    return text
  }
  const rules = [...REJECTED, ...WARNED].map(({ file = RULES, test: name }) => ({
    file,
    test: name,
  }))
  const gone = [...ELSEWHERE, ...rules].filter(
    ({ file, test: name }) => !textOf(file).includes(name),
  )
  assert.deepEqual(gone, [])
})

for (const { name, observes, job } of OBSERVATIONS)
  test(`an observation sets what it observes: ${name}`, () => {
    const source = job({ address: 'http://127.0.0.1:1', secureAddress: 'https://127.0.0.1:1' })
    const unset = observes.filter((one) => {
      const argument = one.slice(one.indexOf('.') + 1)
      return !new RegExp(`\\b${argument}\\s*(=|\\{)`).test(source)
    })
    assert.deepEqual(unset, [])
  })
