import assert from 'node:assert/strict'
import test from 'node:test'
import { Job, type Input } from '@reeve/contract'
import fc from 'fast-check'
import { Value } from 'typebox/value'
import { inputOf } from '../../../test/build/input-arbitrary.ts'
import { jobSpecChanged } from '../job/job.ts'
import { validateJob } from '../validation/validate-job.ts'
import { canonicalizeJob, jobWithDefaults } from './canonicalize-job.ts'

const DEFAULTS = { region: 'eu', namespace: 'team', nodePool: 'workers' }

/** Values that are valid somewhere in a job, and some that are valid nowhere. */
const WORDS = [
  'service batch system sysbatch signal file native fail checks sigterm ${JOB}-x a/b',
  '__proto__ constructor ünï * @daily',
].flatMap((line) => line.split(' '))
const texts = fc.constantFrom('', '5 * * * *', ...WORDS)
// Values of the schema's shape with fields left out or null are Input<Job> by definition.
const inputs = inputOf(Job, texts) as fc.Arbitrary<Input<Job>>

test('canonical job: is idempotent', () => {
  fc.assert(
    fc.property(inputs, (input) => {
      const once = canonicalizeJob(input, DEFAULTS)
      assert.deepEqual(canonicalizeJob(once, DEFAULTS), once)
      assert.equal(jobSpecChanged(once, canonicalizeJob(once, DEFAULTS)), false)
    }),
    { numRuns: 60, seed: 1 },
  )
})

test('canonical job: matches the contract and can be resubmitted', () => {
  fc.assert(
    fc.property(inputs, (input) => {
      const job = canonicalizeJob(input, DEFAULTS)
      assert.ok(Value.Check(Job, job), JSON.stringify([...Value.Errors(Job, job)].slice(0, 3)))
      const sent: unknown = JSON.parse(JSON.stringify(job))
      // Proof: parsing the JSON of a job yields a job.
      assert.deepEqual(canonicalizeJob(sent as Input<Job>, DEFAULTS), job)
    }),
    { numRuns: 40, seed: 2 },
  )
})

test('job with defaults: registering it stores what registering its source stores', () => {
  fc.assert(
    fc.property(inputs, (input) => {
      const filled = jobWithDefaults(input, DEFAULTS)
      assert.deepEqual(canonicalizeJob(filled, DEFAULTS), canonicalizeJob(input, DEFAULTS))
    }),
    { numRuns: 60, seed: 4 },
  )
})

test('validation: any job yields problems, never a crash', () => {
  fc.assert(
    fc.property(inputs, (input) => {
      const { text, list } = validateJob(canonicalizeJob(input, DEFAULTS))
      assert.equal(list.length > 0, text !== '')
      for (const { message } of list) assert.doesNotMatch(message, /^$|undefined(?! volume)|NaN/)
    }),
    { numRuns: 60, seed: 3 },
  )
})
