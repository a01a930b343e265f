import assert from 'node:assert/strict'
import test from 'node:test'
import type { Input, Job, TaskGroup } from '@reeve/contract'
import { aGroup, aJob, aTask } from '../../../test/build/job.ts'
import { LIMITS } from '../limits.ts'
import { validateJob } from './validate-job.ts'

type Found = readonly [path: string, message: string]

function found(job: Job): readonly Found[] {
  return validateJob(job).list.map(({ path, message }) => [path, message])
}

interface Case {
  readonly name: string
  readonly job: Job
  readonly want: readonly Found[]
}

function withGroup(fields: Input<TaskGroup>, job: Input<Job> = {}): Job {
  return aJob({ ...job, groups: [aGroup(fields)] })
}

const G = 'TaskGroups[0]'

const cases: readonly Case[] = [
  { name: 'the smallest job is in order', job: aJob(), want: [] },
  {
    name: 'region, id, name, namespace and type must be there',
    job: { ...aJob(), Region: '', ID: '', Name: '', Namespace: '', Type: '' },
    want: [
      ['Region', 'Missing job region'],
      ['ID', 'Missing job ID'],
      ['Name', 'Missing job name'],
      ['Namespace', 'Job must be in a namespace'],
      ['Type', 'Missing job type'],
    ],
  },
  {
    name: 'ids and names have no blanks or null characters',
    job: { ...aJob(), ID: 'a b\0', Name: 'a\0' },
    want: [
      ['ID', 'Job ID contains a space'],
      ['ID', 'Job ID contains a null character'],
      ['Name', 'Job Name contains a null character'],
    ],
  },
  { name: 'an unknown type', job: aJob({ Type: 'x' }), want: [['Type', 'Invalid job type: "x"']] },
  {
    name: 'the internal type',
    job: aJob({ Type: '_core' }),
    want: [['Type', 'job type cannot be core']],
  },
  {
    name: 'datacenters',
    job: { ...aJob(), Datacenters: [] },
    want: [['Datacenters', 'Missing job datacenters']],
  },
  {
    name: 'names of datacenters',
    job: aJob({ Datacenters: ['dc1', ''] }),
    want: [['Datacenters', 'Job datacenter must be non-empty string']],
  },
  {
    name: 'task groups',
    job: aJob({ TaskGroups: [] }),
    want: [['TaskGroups', 'Missing job task groups']],
  },
  {
    name: 'priority and total count',
    job: { ...withGroup({ Count: 50_001 }), Priority: 101 },
    want: [
      ['Priority', 'job priority must be between [1, 100]'],
      ['TaskGroups', 'total count was greater than configured job_max_count: 50001 > 50000'],
    ],
  },
  {
    name: 'a payload',
    job: aJob({ Payload: 'eA==' }),
    want: [['Payload', "job can't be submitted with a payload, only dispatched"]],
  },
  {
    name: 'system jobs have one of each on a node, and no choice of nodes',
    job: aJob({
      Type: 'system',
      Affinities: [{ LTarget: '${node.class}', RTarget: 'a' }],
      Spreads: [{ Attribute: '${node.class}' }],
      groups: [aGroup({ Count: 2, Scaling: { Max: 2 } })],
    }),
    want: [
      ['Affinities', 'System jobs may not have an affinity block'],
      ['Spreads', 'System jobs may not have a spread block'],
      [`${G}.Count`, 'Job task group app has count 2. Count cannot exceed 1 with system scheduler'],
      [`${G}.Scaling`, 'Task groups with job type system do not support scaling blocks'],
    ],
  },
  {
    name: 'names of groups are there and differ',
    job: aJob({ groups: [aGroup(), aGroup({ Name: '' }), aGroup()] }),
    want: [
      ['TaskGroups[1].Name', 'Job task group 2 missing name'],
      ['TaskGroups[2].Name', "Job task group 3 redefines 'app' from group 1"],
      ['TaskGroups[1].Name', 'Missing task group name'],
    ],
  },
  {
    name: 'constraints of a job',
    job: aJob({
      Constraints: [
        { LTarget: '${attr.a}', RTarget: '' },
        { LTarget: '', RTarget: 'x' },
        { LTarget: '${env.HOME}', RTarget: 'x' },
        { LTarget: 'a', Operand: 'like', RTarget: 'x' },
        { LTarget: '${attr.a}', Operand: 'regexp', RTarget: '(' },
        { LTarget: '${attr.a}', Operand: 'version', RTarget: 'about 1' },
        { LTarget: '${attr.a}', Operand: 'is_set', RTarget: 'x' },
        { LTarget: '${attr.a}', Operand: 'distinct_property', RTarget: '0' },
        { Operand: 'distinct_hosts', RTarget: 'perhaps' },
        { LTarget: '${attr.a}', Operand: 'set_contains', RTarget: '' },
        { Operand: 'distinct_hosts' },
      ],
    }),
    want: [
      ['Constraints[0].RTarget', 'Operator "=" requires an RTarget'],
      ['Constraints[1].LTarget', 'No LTarget provided but is required by constraint'],
      ['Constraints[2].LTarget', 'LTarget "${env.HOME}" is not a property that can be compared'],
      ['Constraints[3].Operand', 'Unknown constraint type "like"'],
      [
        'Constraints[4].RTarget',
        'Regular expression failed to compile: error parsing regexp: missing closing ): `(`',
      ],
      ['Constraints[5].RTarget', 'Version constraint is invalid: malformed constraint: about 1'],
      ['Constraints[6].RTarget', 'Operator "is_set" does not support an RTarget'],
      [
        'Constraints[7].RTarget',
        'Distinct Property must have an allowed count of 1 or greater; got 0 < 1',
      ],
      ['Constraints[8].RTarget', 'Failed to parse RTarget "perhaps" as a bool'],
      ['Constraints[9].RTarget', 'Set contains constraint requires an RTarget'],
    ],
  },
  {
    name: 'constraints that ask nothing of a node',
    job: aJob({
      Constraints: [
        { LTarget: 'foo', RTarget: 'bar' },
        { LTarget: 'node.class', RTarget: 'gpu' },
        { LTarget: 'rack', Operand: 'distinct_property' },
        { LTarget: 'rack', Operand: 'is_set' },
        { LTarget: 'linux', RTarget: '${attr.kernel.name}' },
        { LTarget: 'any', Operand: 'distinct_hosts' },
      ],
      Affinities: [{ LTarget: 'rack', RTarget: 'r1', Weight: 10 }],
    }),
    want: [
      [
        'Constraints[0].LTarget',
        'LTarget "foo" is plain text; write "${attr.foo}" or "${meta.foo}"',
      ],
      ['Constraints[1].LTarget', 'LTarget "node.class" is plain text; write "${node.class}"'],
      [
        'Constraints[2].LTarget',
        'LTarget "rack" is plain text; write "${attr.rack}" or "${meta.rack}"',
      ],
      [
        'Constraints[3].LTarget',
        'LTarget "rack" is plain text; write "${attr.rack}" or "${meta.rack}"',
      ],
      [
        'Affinities[0].LTarget',
        'LTarget "rack" is plain text; write "${attr.rack}" or "${meta.rack}"',
      ],
    ],
  },
  {
    name: 'affinities',
    job: aJob({
      Affinities: [
        { LTarget: '${attr.a}', RTarget: 'x', Weight: 0 },
        { LTarget: '${attr.a}', RTarget: 'x', Weight: 101 },
        { LTarget: '${attr.a}', Operand: 'is_set' },
      ],
    }),
    want: [
      ['Affinities[0].Weight', 'Affinity weight cannot be zero'],
      ['Affinities[1].Weight', 'Affinity weight must be within the range [-100,100]'],
      ['Affinities[2].Operand', 'Unknown affinity operator "is_set"'],
    ],
  },
  {
    name: 'spreads',
    job: aJob({
      Spreads: [
        { Attribute: '', Weight: 0 },
        {
          Attribute: '${node.datacenter}',
          SpreadTarget: [
            { Value: 'a', Percent: 70 },
            { Value: 'a', Percent: 40 },
          ],
        },
      ],
    }),
    want: [
      ['Spreads[0].Attribute', 'Missing spread attribute'],
      ['Spreads[0].Weight', 'Spread block must have a positive weight from 1 to 100'],
      ['Spreads[1].SpreadTarget[1].Value', 'Spread target value "a" already defined'],
      [
        'Spreads[1].SpreadTarget',
        'Sum of spread target percentages must not be greater than 100%; got 110%',
      ],
    ],
  },
  {
    name: 'periodic jobs',
    job: aJob({ Periodic: { TimeZone: 'Mars/Base', SpecType: 'x' } }),
    want: [
      ['Periodic', 'Periodic can only be used with "batch" or "sysbatch" scheduler'],
      ['Periodic', 'Must specify a spec'],
      ['Periodic.TimeZone', 'Invalid time zone "Mars/Base": unknown time zone Mars/Base'],
      ['Periodic.SpecType', 'Unknown periodic specification type "x"'],
    ],
  },
  {
    name: 'the spec of a periodic job',
    job: aJob({ Type: 'batch', Periodic: { Spec: '61 * * * *', Specs: ['@daily'] } }),
    want: [
      ['Periodic', 'Only cron or crons may be used'],
      ['Periodic.Spec', 'Invalid cron spec "61 * * * *": syntax error in minute field: "61"'],
    ],
  },
  {
    name: 'a periodic job that is off is not looked at',
    job: aJob({ Type: 'batch', Periodic: { Enabled: false } }),
    want: [],
  },
  {
    name: 'parameterized jobs',
    job: aJob({
      ParameterizedJob: { Payload: 'x', MetaRequired: ['b', 'a'], MetaOptional: ['a', 'b'] },
    }),
    want: [
      [
        'ParameterizedJob',
        'Parameterized job can only be used with "batch" or "sysbatch" scheduler',
      ],
      ['ParameterizedJob.Payload', 'Unknown payload requirement: "x"'],
      [
        'ParameterizedJob.MetaOptional',
        'Required and optional meta keys should be disjoint. Following keys exist in both: [a b]',
      ],
    ],
  },
]

for (const { name, job, want } of cases)
  test(`job rules: ${name}`, () => assert.deepEqual(found(job), want))

test('validation: text nests groups and tasks', () => {
  const job = aJob({ groups: [aGroup({ Tasks: [aTask({ Driver: '' })] })] })
  assert.equal(
    validateJob(job).text,
    '1 error occurred:\n\t* Task group app validation failed: 1 error occurred:\n\t* Task main validation failed: 1 error occurred:\n\t* Missing task driver\n\n\n\n\n\n',
  )
})

test('validation: valid job has no text', () => {
  assert.deepEqual(validateJob(aJob()), { text: '', list: [] })
})

test('validation: constraints are numbered from one', () => {
  const { text } = validateJob(aJob({ Constraints: [{ Operand: 'like' }] }))
  assert.match(
    text,
    /^1 error occurred:\n\t\* Constraint 1 validation failed: 1 error occurred:\n\t\* Unknown/,
  )
})

test('validation: maximum priority is configurable', () => {
  assert.deepEqual(validateJob(aJob({ Priority: 200 }), { maxPriority: 200 }).list, [])
})

test('validation: number of periodic specs is limited', () => {
  const Specs = Array.from({ length: LIMITS.periodicSpecsMax + 1 }, () => '@daily')
  const job = aJob({ Type: 'batch', Periodic: { Specs } })
  assert.deepEqual(validateJob(job).list, [
    { path: 'Periodic.Specs', message: 'Periodic has 65 specs. It cannot have more than 64' },
  ])
})

test('validateJob: lists violations up to the limit and counts the rest', () => {
  const Constraints = Array.from({ length: LIMITS.jobProblemsMax + 5 }, () => ({ Operand: 'x' }))
  const { text, list } = validateJob(aJob({ Constraints }))
  assert.equal(list.length, LIMITS.jobProblemsMax + 1)
  assert.deepEqual(list.at(-1), { path: '', message: '5 more violations are not listed' })
  assert.ok(text.endsWith('\n\t* 5 more violations are not listed\n\n'))
})

test('validateJob: constraint operand is limited', () => {
  const of = (length: number) => {
    const constraint = {
      LTarget: '${meta.a}',
      RTarget: 'a'.repeat(length),
      Operand: 'set_contains',
    }
    return found(aJob({ Constraints: [constraint] }))
  }
  assert.deepEqual(of(LIMITS.constraintCharsMax), [])
  const message = `RTarget is longer than ${LIMITS.constraintCharsMax} characters`
  assert.deepEqual(of(LIMITS.constraintCharsMax + 1), [['Constraints[0].RTarget', message]])
})
