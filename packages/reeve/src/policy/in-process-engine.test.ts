import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { v2 } from '@reeve/contract'
import { ELLIPSIS } from '@reeve/kit/truncate-text.ts'
import { writeBundle } from './set-archive.ts'
import { InProcessEngine } from './in-process-engine.ts'
import type { EngineOptions, PolicyResult, PolicyDefinition } from './engine.ts'
import { MESSAGE_LENGTH_MAX } from './limits.ts'
import type { JobInput, JsonObject, PlanInput, PolicyInput } from './policy-input.ts'

const OPTIONS: EngineOptions = {
  version: '0.1.0',
  time: { nowNs: 1_700_000_000_000_000_000n, zone: 'UTC', offsetSeconds: () => 0 },
  isCancelled: () => false,
  random: () => 0.5,
  offsetAt: () => 0,
}

const JOB: JobInput = {
  kind: 'job',
  namespace: 'default',
  token: { AccessorID: 'a-1', Policies: ['dev'] },
  existingJob: undefined,
  variables: new Map([['default@service/native/limits', { memory: '512' }]]),
  job: {
    ID: 'web',
    Priority: 50,
    Meta: { CamelCase: 'kept' },
    TaskGroups: [
      {
        Name: 'g',
        Count: 3,
        Tasks: [{ Name: 't', Resources: { MemoryMB: 2048 } }],
        EphemeralDisk: { SizeMB: 300 },
      },
    ],
  },
}

const BUCKET: JsonObject = {
  address: 'store_bucket.logs',
  mode: 'managed',
  type: 'store_bucket',
  name: 'logs',
  provider_name: 'registry/acme/store',
  change: {
    actions: ['create'],
    before: null,
    after: { name: 'logs', encrypted: false },
    after_unknown: { id: true },
  },
}

const PLAN: PlanInput = {
  kind: 'plan',
  run: { id: 'run-1', workspace: { name: 'prod', tags: ['a'] }, is_destroy: false },
  plan: {
    format_version: '1.2',
    tool_version: '9.9',
    variables: { region: { value: 'eu' } },
    resource_changes: [BUCKET],
    planned_values: {
      outputs: { url: { value: 'x', sensitive: false } },
      root_module: {
        resources: [],
        child_modules: [
          {
            address: 'module.a[0]',
            resources: [
              { address: 'module.a[0].disk.d', type: 'disk', name: 'd', values: { size: 5 } },
            ],
          },
        ],
      },
    },
    prior_state: {
      values: { root_module: { resources: [{ address: 'disk.old', values: { size: 1 } }] } },
    },
    configuration: {
      provider_config: { store: { name: 'store', expressions: { zone: { constant_value: 'z' } } } },
      root_module: {
        variables: { region: { default: 'us' } },
        resources: [
          {
            address: 'store_bucket.logs',
            type: 'store_bucket',
            name: 'logs',
            expressions: { name: { constant_value: 'logs' } },
          },
        ],
        module_calls: {
          a: {
            source: './a',
            module: {
              resources: [
                { address: 'disk.d', type: 'disk', name: 'd', provisioners: [{ type: 'shell' }] },
              ],
            },
          },
        },
      },
    },
  },
}

function judge(
  subject: PolicyInput,
  policy: Partial<PolicyDefinition> & { code: string },
  params: JsonObject = {},
): PolicyResult {
  const full: PolicyDefinition = { name: 'p', kind: 'native', query: null, ...policy }
  const [judgement] = new InProcessEngine().evaluate(subject, [{ policy: full, params }], OPTIONS)
  assert.ok(judgement !== undefined)
  return judgement
}

/** Conditions that hold on the job or plan above. */
const TRUE_OF_JOB = [
  'job.id is "web" and job.priority is 50',
  'job.task_groups[0].tasks[0].resources.memory_mb is 2048',
  'job.task_groups[0].ephemeral_disk.size_mb is 300',
  'job.meta.CamelCase is "kept"',
  'not job_exists and existing_job is null and namespace is "default"',
  'service_acl_token.accessor_id is "a-1"',
  'other_acl_token.policies contains "dev"',
]
const TRUE_OF_PLAN = [
  'plan.resource_changes["store_bucket.logs"].change.after.encrypted is false',
  'plan.resource_changes["store_bucket.logs"].module_address is ""',
  'plan.resource_changes["store_bucket.logs"].change.after.id is not defined',
  'plan.tool_version is "9.9" and plan.variables.region.value is "eu"',
  'plan.planned_values.resources["module.a[0].disk.d"].values.size is 5',
  'plan.planned_values.resources["module.a[0].disk.d"].module_address is "module.a[0]"',
  'plan.planned_values.outputs.url.value is "x" and plan.raw.format_version is "1.2"',
  'state.resources["disk.old"].values.size is 1',
  'config.resources["module.a.disk.d"].module_address is "module.a"',
  'config.provisioners["module.a.disk.d:0"].type is "shell"',
  'config.variables.region.default is "us" and config.module_calls.a.source is "./a"',
  'config.providers.store.config.zone.constant_value is "z"',
  'config.strip_index("module.a[\\"x\\"].disk.d[0]") is "module.a.disk.d"',
  'run.workspace.name is "prod" and not run.is_destroy',
]

describe('imports and globals of native policies', () => {
  for (const condition of TRUE_OF_JOB)
    it(condition, () => {
      assert.deepEqual(judge(JOB, { code: `main = ${condition}` }).findings, [])
    })
  const imports = ['plan/v2', 'state/v2', 'config/v2']
    .map((path) => `import "${path}" as ${path.slice(0, -3)}`)
    .join('\n')
  for (const condition of TRUE_OF_PLAN)
    it(condition, () => {
      const code = `${imports}\nimport "run"\nmain = ${condition}`
      assert.deepEqual(judge(PLAN, { code }).findings, [])
    })

  it('include variables below the prefix of policies', () => {
    const code =
      'import "service_var"\nmain = service_var.get("service/native/limits").memory is "512"'
    assert.equal(judge(JOB, { code }).status, 'passed')
  })

  it('include run data under the other import name', () => {
    const code = 'import "tfplan/v2" as tfplan\nmain = tfplan.tool_version is "9.9"'
    assert.equal(judge(PLAN, { code }).status, 'passed')
  })

  it('are not affected by changes of another policy', () => {
    const code =
      'import "plan/v2" as plan\ndelete(plan.variables, "region")\nmain = plan.variables is empty'
    const policy: PolicyDefinition = { name: 'p', kind: 'native', query: null, code }
    const other = {
      ...policy,
      code: 'import "plan/v2" as plan\nmain = plan.variables is not empty',
    }
    const asked = [policy, other].map((one) => ({ policy: one, params: {} }))
    const statuses = new InProcessEngine()
      .evaluate(PLAN, asked, OPTIONS)
      .map(({ status }) => status)
    assert.deepEqual(statuses, ['passed', 'passed'])
  })
})

const NATIVE_BUCKETS = `import "plan/v2" as plan

buckets = filter plan.resource_changes as _, rc { rc.type is "store_bucket" }

encrypted = rule {
	all buckets as _, b { b.change.after.encrypted }
}

main = rule { encrypted }
`
const REGO_BUCKETS = `package buckets

deny contains msg if {
	some rc in input.plan.resource_changes
	rc.type == "store_bucket"
	not rc.change.after.encrypted
	msg := sprintf("%s is not encrypted", [rc.address])
}
`

describe('the finding of a failing policy', () => {
  it('has rule, location and value: native', () => {
    const { status, findings } = judge(PLAN, { code: NATIVE_BUCKETS })
    assert.equal(status, 'failed')
    assert.deepEqual(
      findings.map(({ rule, line, message }) => ({ rule, line, message })),
      [
        { rule: 'encrypted', line: 6, message: 'b.change.after.encrypted is false' },
        {
          rule: 'encrypted',
          line: 6,
          message:
            'all buckets as _, b { b.change.after.encrypted } is false (element of buckets is "store_bucket.logs")',
        },
        { rule: 'main', line: 9, message: 'encrypted is false' },
      ],
    )
  })

  it('has rule, location and value: opa', () => {
    const { status, findings, output } = judge(PLAN, { kind: 'opa', code: REGO_BUCKETS })
    assert.equal(status, 'failed')
    assert.deepEqual(output, ['store_bucket.logs is not encrypted'])
    assert.deepEqual(findings, [
      { rule: 'deny', line: 3, column: 1, message: 'store_bucket.logs is not encrypted' },
    ])
  })

  it('policies of both languages evaluate jobs', () => {
    const native = 'main = rule { all job.task_groups as g { g.count < 3 } }'
    assert.equal(judge(JOB, { code: native }).status, 'failed')
    const opa = 'package a\n\ndeny contains "too many" if input.job.TaskGroups[_].Count > 2\n'
    assert.deepEqual(judge(JOB, { kind: 'opa', code: opa, query: 'a.deny' }).output, ['too many'])
  })
})

/** Value of the query, outcome. */
const QUERY_VALUES: readonly (readonly [string, PolicyResult['status']])[] = [
  ['v := []', 'passed'],
  ['v := ["no"]', 'failed'],
  ['v := true', 'passed'],
  ['v := false', 'failed'],
  ['v := {}', 'passed'],
  ['v := {"a": 1}', 'failed'],
  ['v := 1', 'errored'],
  ['v := "x"', 'errored'],
  ['other := 1', 'errored'],
  ['v contains "x" if false', 'passed'],
]

describe('result of an opa query', () => {
  for (const [rule, status] of QUERY_VALUES)
    it(`${rule}: ${status}`, () => {
      const code = `package q\n\n${rule}\n`
      assert.equal(judge(JOB, { kind: 'opa', code, query: 'data.q.v' }).status, status)
    })
})

const QUERY_TEXTS = [
  'data.q.deny',
  'q.deny',
  ' data.q.deny\n',
  'q["deny"]',
  'q.deny | set()',
  '[m | some m in data.q.deny]',
  'object.get(data, ["q", "deny"], set())',
  '{"q": data}.q.q.deny',
  'data["q"].deny',
  'data.q.deny with input.job as {}',
  'q.deny with input.job as {}',
] as const

describe('an opa query is a reference with or without `data.`, or any other term', () => {
  const code = 'package q\n\ndeny contains "no"\n'
  for (const query of QUERY_TEXTS)
    it(query.trim(), () => {
      const { output, findings } = judge(JOB, { kind: 'opa', code, query })
      assert.deepEqual([output, findings[0]?.message], [['no'], 'no'])
    })

  it('data and input are documents', () => {
    const { output } = judge(JOB, { kind: 'opa', code, query: 'data' }, { a: 1 })
    assert.deepEqual(output, [{ parameters: { a: 1 }, q: { deny: ['no'] } }])
    assert.equal(judge(JOB, { kind: 'opa', code, query: 'input.job.Meta' }).status, 'failed')
    assert.equal(judge(JOB, { kind: 'opa', code, query: 'true' }).status, 'passed')
  })
})

it('a message of an opa policy is truncated before it leaves the worker', () => {
  const code = `package q\n\nv contains concat("", [ "0123456789" | some _ in numbers.range(1, 2000) ])\n`
  const { findings } = judge(JOB, { kind: 'opa', code, query: 'data.q.v' })
  assert.deepEqual(
    findings.map(({ message }) => [message.length, message.at(-1)]),
    [[MESSAGE_LENGTH_MAX + 1, ELLIPSIS]],
  )
})

it('an opa query that is false fails with a warning that messages are expected', () => {
  const code = 'package q\n\nv := false\n'
  const { warning } = judge(JOB, { kind: 'opa', code, query: 'data.q.v' })
  assert.equal(warning, 'data.q.v is false: an array or a set of messages is expected')
  const said = judge(JOB, { kind: 'opa', code: 'package q\n\nv := ["no"]\n', query: 'data.q.v' })
  assert.equal(said.warning, undefined)
})

describe('a policy of the maximum upload size can be evaluated', () => {
  const filled = (head: string): string => {
    const line = '# what people write about it\n'
    const lines = Math.floor((v2.POLICY_UPLOAD_BYTES_MAX - head.length) / line.length)
    const text = head + line.repeat(lines)
    return text.padEnd(v2.POLICY_UPLOAD_BYTES_MAX, '#')
  }
  const cases = {
    native: 'main = rule { true }\n',
    opa: 'package p\n\ndeny contains "no" if false\n',
  } as const
  for (const kind of ['native', 'opa'] as const)
    it(kind, () => {
      const policy = { name: 'p', kind, query: null, code: filled(cases[kind]) }
      const judgeOnce = new InProcessEngine()
      assert.deepEqual(judgeOnce.diagnose(policy), [])
      const [said] = judgeOnce.evaluate(JOB, [{ policy, params: {} }], OPTIONS)
      assert.equal(said?.status, 'passed')
    })
})

describe('a policy that cannot be evaluated fails closed', () => {
  const CASES: readonly (readonly [
    string,
    Partial<PolicyDefinition> & { code: string },
    RegExp,
  ])[] = [
    ['native syntax', { code: 'main = (' }, /expression is expected/],
    ['native error', { code: 'main = 1 + "a"' }, /not possible/],
    ['old import', { code: 'import "tfplan"\nmain = true' }, /use "tfplan\/v2"/],
    [
      'plan data and a job at once',
      { code: 'import "plan/v2" as plan\nmain = job.id is plan.id' },
      /not there in this evaluation/,
    ],
    ['opa syntax', { kind: 'opa', code: 'package a\n\ndeny contains' }, /./],
    [
      'opa conflict',
      { kind: 'opa', code: 'package a\n\ndeny := 1\n\ndeny := 2 if true\n' },
      /multiple outputs/,
    ],
  ]
  for (const [name, policy, message] of CASES)
    it(name, () => {
      const { status, findings } = judge(JOB, policy)
      assert.equal(status, 'errored')
      assert.match(findings[0]?.message ?? '', message)
    })
})

it('a native policy about plans is skipped for a job, and the reverse', () => {
  const skipped = (concern: string) => ({
    status: 'passed',
    output: [],
    findings: [],
    skipped: `it is about a ${concern}`,
  })
  const plan = 'import "plan/v2" as plan\nmain = plan.variables is empty'
  assert.deepEqual(judge(JOB, { code: plan }), skipped('plan'))
  assert.equal(judge(PLAN, { code: plan }).status, 'failed')
  const job = 'main = job.priority < 10'
  assert.deepEqual(judge(PLAN, { code: job }), skipped('job'))
  assert.equal(judge(JOB, { code: job }).status, 'failed')
  // A variable that the policy declares itself is not a host global.
  assert.equal(judge(PLAN, { code: 'job = 1\nmain = job is 2' }).status, 'failed')
})

it('parameters of the set are available to native policies', () => {
  const code = 'param max\nmain = length(job.task_groups) <= max'
  assert.equal(judge(JOB, { code }, { max: 1 }).status, 'passed')
  assert.equal(judge(JOB, { code }, { max: 0 }).status, 'failed')
  assert.equal(judge(JOB, { code }).status, 'errored')
})

it('the finding for main has its location', () => {
  const { findings } = judge(JOB, { code: 'a = 1\n\nmain = a is 2' })
  assert.deepEqual(findings, [
    { rule: 'main', line: 3, column: 1, message: 'main is false', value: 'false' },
  ])
})

it('parameters of the set are available to opa policies as data', () => {
  const code =
    'package a\n\ndeny contains "many" if count(input.job.TaskGroups) > data.parameters.max\n'
  const policy = { kind: 'opa', code, query: 'data.a.deny' } as const
  assert.equal(judge(JOB, policy, { max: 1 }).status, 'passed')
  assert.deepEqual(judge(JOB, policy, { max: 0 }).output, ['many'])
  assert.equal(judge(JOB, policy).status, 'passed')
})

it('a native policy imports files of its set, and a finding names the file', () => {
  const code = writeBundle({
    code: 'import "groups"\nimport "limits"\nmain = rule { groups.small and limits.most is 3 }',
    modules: [['groups', 'import "limits"\nsmall = rule { limits.most > 5 }']],
    statics: [['limits', '{"most": 3}']],
    libraries: [],
  })
  const { status, findings } = judge(JOB, { code })
  assert.equal(status, 'failed')
  assert.deepEqual(
    findings.map(({ file, rule, line }) => [file, rule, line]),
    [
      ['groups.native', 'small', 2],
      [undefined, 'main', 3],
    ],
  )
})

it('long numbers in results of opa policies can be stored, and messages keep their digits', () => {
  const code = 'package a\n\ndeny contains {"n": [9007199254740993]}\n'
  const judgement = judge(JOB, { kind: 'opa', code, query: 'data.a.deny' })
  assert.equal(judgement.findings[0]?.message, '{"n":[9007199254740993]}')
  const stored: unknown = JSON.parse(JSON.stringify(judgement))
  assert.deepEqual(stored, judgement)
})

it('the files of an opa set are compiled together, and a finding names the file', () => {
  const libraries = [
    ['lib/names.rego', 'package lib\n\nname := "web"\n'],
    ['more.rego', 'package a\n\ndeny contains "more"\n'],
  ] as const
  const own = 'package a\n\nimport data.lib\n\ndeny contains lib.name\n'
  const parts = { modules: [], statics: [], libraries }
  const policy = { kind: 'opa', query: 'data.a.deny' } as const
  const both = judge(JOB, { ...policy, code: writeBundle({ ...parts, code: own }) })
  assert.deepEqual(
    both.findings.map(({ file, line, message }) => [file, line, message]),
    [
      ['more.rego', 3, 'more'],
      [undefined, 5, 'web'],
    ],
  )
  const alone = judge(JOB, { ...policy, code: writeBundle({ ...parts, code: '' }) })
  assert.deepEqual(alone.output, ['more'])
})

it('diagnostics have a location', () => {
  const judgeOnce = new InProcessEngine()
  const found = judgeOnce.diagnose({
    name: 'p',
    kind: 'native',
    query: null,
    code: 'a = 1\nmain = )',
  })
  assert.deepEqual(
    found.map(({ severity, line, column }) => [severity, line, column]),
    [['error', 2, 8]],
  )
  const warned = judgeOnce.diagnose({
    name: 'p',
    kind: 'native',
    query: null,
    code: 'a = 1\nmain = not a is 2',
  })
  assert.deepEqual(
    warned.map(({ severity, line }) => [severity, line]),
    [['warning', 2]],
  )
})

describe('cache of compiled policies', () => {
  const policy = (name: string, comment = ''): PolicyDefinition => {
    return { name, kind: 'native', query: null, code: `# ${comment}\nmain = (` }
  }
  const long = 'x'.repeat(3 * 1024 * 1024)

  it('keeps policies while their total size is small', () => {
    const keeper = new InProcessEngine()
    const first = keeper.diagnose(policy('a'))
    for (let i = 0; i < 100; i++) keeper.diagnose(policy(`b${i}`))
    keeper.diagnose(policy('c', long))
    assert.equal(keeper.diagnose(policy('a')), first)
  })

  it('evicts policies for long ones; the longest is kept alone', () => {
    const keeper = new InProcessEngine()
    const first = keeper.diagnose(policy('a', long))
    assert.equal(keeper.diagnose(policy('a', long)), first)
    const second = keeper.diagnose(policy('b', long))
    assert.equal(keeper.diagnose(policy('b', long)), second)
    assert.notEqual(keeper.diagnose(policy('a', long)), first)
    const longest = keeper.diagnose(policy('c', long + long))
    assert.equal(keeper.diagnose(policy('c', long + long)), longest)
  })
})
