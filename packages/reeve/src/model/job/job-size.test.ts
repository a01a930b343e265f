import assert from 'node:assert/strict'
import test from 'node:test'
import type { Input, Job } from '@reeve/contract'
import { aGroup, aJob, aTask } from '../../../test/build/job.ts'
import { canonicalizeJob, PARSE_DEFAULTS } from '../canonical/canonicalize-job.ts'
import { LIMITS } from '../limits.ts'
import { isLargeJob, jobSizeProblem, patternInstructions } from './job.ts'

const { jobPartsMax, jobEntriesMax } = LIMITS

function withGroups(count: number): Input<Job> {
  return { ID: 'j', TaskGroups: Array.from({ length: count }, () => ({ Tasks: [{}] })) }
}

function withMeta(count: number): Input<Job> {
  const entries = Array.from({ length: count }, (_, index) => [`k${index}`, 'v'] as const)
  return { ID: 'j', Meta: Object.fromEntries(entries) }
}

function withArguments(count: number): Input<Job> {
  const args = Array.from({ length: count }, () => 'a')
  return { ID: 'j', TaskGroups: [aGroup({ Tasks: [aTask({ Config: { args } })] })] }
}

/** Half of them are constraints of the job, half are affinities of a task. */
function withPatterns(count: number, RTarget: string, Operand = 'regexp'): Input<Job> {
  const rule = { LTarget: '${attr.a}', RTarget, Operand }
  const rules = Array.from({ length: Math.ceil(count / 2) }, () => rule)
  const task = { Name: 't', Driver: 'd', Affinities: count > 1 ? rules : null }
  return { ID: 'j', Constraints: rules, TaskGroups: [{ Tasks: [task] }] }
}

const patterns = 'Regular expressions of the job have more than 20000 instructions together'
const entries = `Job has more than ${jobEntriesMax} entries in its lists and maps`
const cases: readonly (readonly [string, Input<Job>, string | undefined])[] = [
  ['an empty job is small', {}, undefined],
  ['groups and tasks may be as many as the limit', withGroups(jobPartsMax / 2), undefined],
  [
    'and none more',
    withGroups(jobPartsMax / 2 + 1),
    `Job has ${jobPartsMax + 2} task groups and tasks; at most ${jobPartsMax} are allowed`,
  ],
  ['a map may have as many entries as the limit', withMeta(jobEntriesMax), undefined],
  ['a map with one more is too large', withMeta(jobEntriesMax + 1), entries],
  // A group and a task are entries of their lists.
  ['a list counts wherever it is', withArguments(jobEntriesMax - 2), undefined],
  ['many short regular expressions are allowed', withPatterns(1_000, 'v1[.]*'), undefined],
  ['one that stands for many instructions is not', withPatterns(1, 'a{1000}'.repeat(20)), patterns],
  ['nor are many that do together', withPatterns(100, '(a{30}){30}'), patterns],
  ['other operands compare texts', withPatterns(100, '(a{30}){30}', '='), undefined],
  ['a list with one more is too large', withArguments(jobEntriesMax - 1), entries],
]

for (const [name, job, problem] of cases)
  test(`jobSizeProblem: ${name}`, () => assert.equal(jobSizeProblem(job), problem))

test('jobSizeProblem: regular expressions have as many instructions as the limit, and none more', () => {
  const withLiterals = (...lengths: readonly number[]): Input<Job> => ({
    ID: 'j',
    Constraints: lengths.map((length) => ({
      LTarget: '${attr.a}',
      RTarget: 'a'.repeat(length),
      Operand: 'regexp',
    })),
  })
  // A literal has an instruction for each character, and some around it.
  const around = patternInstructions(withLiterals(1)) - 1
  const full = Array.from({ length: 9 }, () => 2_000 - around)
  const last = LIMITS.patternInstructionsMax - 9 * 2_000 - around
  assert.equal(jobSizeProblem(withLiterals(...full, last)), undefined)
  assert.equal(jobSizeProblem(withLiterals(...full, last + 1)), patterns)
})

test('jobSizeProblem: defaults do not count', () => {
  const groups = Array.from({ length: jobPartsMax / 2 }, (_, i) => aGroup({ Name: `g${i}` }))
  const job = aJob({ groups })
  assert.equal(jobSizeProblem(job), undefined)
  assert.equal(jobSizeProblem(canonicalizeJob(job, PARSE_DEFAULTS)), undefined)
})

test('isLargeJob: many groups, tasks or entries', () => {
  for (const [job, isLarge] of [
    [aJob(), false],
    [withGroups(50), false],
    [withGroups(51), true],
    [withMeta(1_000), false],
    [withMeta(1_001), true],
    [withArguments(1_000), true],
  ] as const)
    assert.equal(isLargeJob(job), isLarge)
})
