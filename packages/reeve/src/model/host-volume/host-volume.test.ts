import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { HostVolumeInput } from '@reeve/contract'
import { hostVolumeProblem, isHostPath, newHostVolume } from './host-volume.ts'

function problemOf(input: HostVolumeInput): string | undefined {
  const volume = newHostVolume({ Name: 'data', ...input }, { id: 'v', origin: 'created' })
  return hostVolumeProblem(volume)
}

test('the parameters of a volume are limited in total', () => {
  const parameters = (values: readonly string[]): HostVolumeInput => ({
    Parameters: Object.fromEntries(values.map((value, index) => [`p${index}`, value])),
  })
  const long = '\u{e9}'.repeat(4_096)
  assert.equal(problemOf(parameters(Array.from({ length: 7 }, () => long))), undefined)
  const problem = problemOf(parameters(Array.from({ length: 8 }, () => long)))
  assert.match(problem ?? '', /65601 bytes as JSON: at most 65536 are allowed/)
})

const words = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `w${index}`)
const parametersOf = (names: readonly string[], value = ''): HostVolumeInput => ({
  Parameters: Object.fromEntries(names.map((name) => [name, value])),
})
const constraintsOf = (count: number): HostVolumeInput => ({
  Constraints: words(count).map((RTarget) => ({
    LTarget: '${node.class}',
    RTarget,
    Operand: '=',
  })),
})

for (const { name, at, past, problem } of [
  {
    name: 'parameters',
    at: parametersOf(words(64)),
    past: parametersOf(words(65)),
    problem: 'a volume has at most 64 parameters',
  },
  {
    name: 'characters of the name of a parameter',
    at: parametersOf(['n'.repeat(128)]),
    past: parametersOf(['n'.repeat(129)]),
    problem: 'the name of a parameter has 1 to 128 characters',
  },
  {
    name: 'characters of a parameter',
    at: parametersOf(['size'], 'v'.repeat(4_096)),
    past: parametersOf(['size'], 'v'.repeat(4_097)),
    problem: 'parameter "size" has more than 4096 characters',
  },
  {
    name: 'constraints',
    at: constraintsOf(64),
    past: constraintsOf(65),
    problem: 'a volume has at most 64 constraints',
  },
])
  test(`a volume may have ${name} up to the limit`, () => {
    assert.equal(problemOf(at), undefined)
    assert.equal(problemOf(past), problem)
  })

test('volume path is absolute, short and without dot segments', () => {
  assert.equal(isHostPath('/srv/data.d/..x'), true)
  assert.equal(isHostPath(`/${'a'.repeat(255)}`), true)
  for (const path of ['', 'srv', '/srv/..', '/./srv', '/a\nb', `/${'a'.repeat(256)}`])
    assert.equal(isHostPath(path), false, path)
})
