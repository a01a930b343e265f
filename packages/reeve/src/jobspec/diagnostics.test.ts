import assert from 'node:assert/strict'
import { test } from 'node:test'
import { canonicalizeJob, PARSE_DEFAULTS, validateJob } from '../model/index.ts'
import { parseLegacyJobFile } from './legacy-job-file.ts'
import { parseJobFile, type JobFileResult } from './parse-job-file.ts'
import { formatLocatedProblem, locateProblems } from './diagnostics.ts'

const request = { file: 'web.hcl', strict: true, files: undefined, random: { next: () => 0 } }

/** The formatted validation problems of a job file. */
function problemsOf(read: JobFileResult): readonly string[] {
  assert.ok(read.ok, JSON.stringify(read))
  const { job, positions } = read.value
  const { list } = validateJob(canonicalizeJob(job, { ...PARSE_DEFAULTS, nodePool: 'default' }))
  return locateProblems(list, positions).map(formatLocatedProblem)
}

const TEXT = `job "a job" {
  datacenters = ["dc1", ""]
  group "app" {
    count = -1
    task "main" {
      kill_timeout = "-1s"
      resources {
        memory = 5
      }
    }
    volume "data" {
      type = "tape"
    }
  }
}
`

const WANTED = [
  'web.hcl:1,1-12: ID: Job ID contains a space',
  'web.hcl:2,17-28: Datacenters: Job datacenter must be non-empty string',
  "web.hcl:4,13-15: TaskGroups[0].Count: Task group count can't be negative",
  'web.hcl:5,5-16: TaskGroups[0].Tasks[0].Driver: Missing task driver',
  'web.hcl:6,22-27: TaskGroups[0].Tasks[0].KillTimeout: KillTimeout must be a positive value',
  'web.hcl:8,18-19: TaskGroups[0].Tasks[0].Resources.MemoryMB: minimum MemoryMB value is 10; got 5',
  'web.hcl:12,14-20: TaskGroups[0].Volumes[data].Type: volume has unrecognized type "tape"',
]

for (const [syntax, read] of [
  ['native', parseJobFile({ ...request, text: TEXT })],
  ['older', parseLegacyJobFile({ file: 'web.hcl', text: TEXT })],
] as const)
  test(`placeProblems: each violation has its place in a file of the ${syntax} syntax`, () => {
    const found = problemsOf(read)
    const missing = WANTED.filter((line) => !found.includes(line))
    assert.deepEqual(missing, [], found.join('\n'))
  })

test('placeProblems: problems come in the order of the file', () => {
  const text = `job "j" {
  group "a" {
    task "main" {
      kill_timeout = "-1s"
    }
    count = -1
  }
  datacenters = [""]
}
`
  const found = problemsOf(parseJobFile({ ...request, text }))
  const lines = found.map((line) => Number(/^web\.hcl:(\d+),/.exec(line)?.[1]))
  assert.ok(lines.length > 3, found.join('\n'))
  assert.deepEqual(
    lines,
    lines.toSorted((a, b) => a - b),
  )
})

test('placeProblems: what a dynamic block made is at that block', () => {
  const text = `job "j" {
  dynamic "group" {
    for_each = ["a", "b"]
    labels   = [group.value]
    content {
      count = -1
    }
  }
}`
  const found = problemsOf(parseJobFile({ ...request, text }))
  const counts = found.filter((line) => line.includes('.Count'))
  assert.deepEqual(counts, [
    "web.hcl:6,15-17: TaskGroups[0].Count: Task group count can't be negative",
    "web.hcl:6,15-17: TaskGroups[1].Count: Task group count can't be negative",
  ])
})

test('placeProblems: in the JSON form too', () => {
  const text = '{"job": {"j": {"group": {"g": {\n"count": -1}}}}}'
  const found = problemsOf(parseJobFile({ ...request, text }))
  assert.ok(
    found.includes("web.hcl:2,10-12: TaskGroups[0].Count: Task group count can't be negative"),
    found.join('\n'),
  )
})

test('placeProblems: a rule about the job as a whole is at its block', () => {
  const found = problemsOf(parseJobFile({ ...request, text: '\njob "j" {}' }))
  assert.deepEqual(found, ['web.hcl:2,1-8: TaskGroups: Missing job task groups'])
})
