import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compilePolicy } from '../evaluate/policy.ts'

/** Policy text, and whether it reads the host variable `job`. */
const CASES: readonly (readonly [text: string, reads: boolean])[] = [
  ['main = job.id is "a"', true],
  ['main = rule when job is null { true }', true],
  ['f = func() { return job }\nmain = f()', true],
  ['if true { x = [job] }\nmain = true', true],
  ['case job { when 1: x = 1 }\nmain = true', true],
  ['xs = {}\nxs[job] = 1\nmain = true', true],
  ['for job as x { print(x) }\nmain = true', true],
  ['for [1] as job { print(job) }\nmain = job', true],
  ['main = all job as job { job }', true],
  ['x = {"job": 1}\nmain = x.job is 1', false],
  ['job = 1\nmain = job is 1', false],
  ['if true { job = 1 }\nmain = job is 1', false],
  ['param job\nmain = job is 1', false],
  ['import "time" as job\nmain = job.now', false],
  ['func job() { return true }\nmain = job()', false],
  ['for [1] as job { print(job) }\nmain = true', false],
  ['for {} as job, x { print([job]) }\nmain = true', false],
  ['for [1] as x { job = x\nprint(job) }\nmain = true', false],
  ['main = all [1] as job { any [2] as x { job < x } }', false],
  ['f = func(job) { return job }\nmain = f(1)', false],
]

for (const [text, reads] of CASES)
  test(`${JSON.stringify(text)} ${reads ? 'reads' : 'does not read'} job`, () => {
    const options = { globals: ['job'], isImport: () => true }
    const compiled = compilePolicy({ file: 'p.native', text }, options)
    assert.ok(compiled.ok, compiled.ok ? '' : JSON.stringify(compiled.error))
    assert.deepEqual(compiled.value.globals, reads ? ['job'] : [])
  })
