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

test('a path of a volume is absolute, short, and has no dots', () => {
  assert.equal(isHostPath('/srv/data.d/..x'), true)
  for (const path of ['', 'srv', '/srv/..', '/./srv', '/a\nb', `/${'a'.repeat(256)}`])
    assert.equal(isHostPath(path), false, path)
})
