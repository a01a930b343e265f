import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Input, Job } from '@reeve/contract'
import { aGroup, aTask } from '../build/index.ts'
import { ofJob, PARAMETERIZED } from './cluster.ts'
import { aGuardedServer, type GuardedServer, type PolicyFields } from './guarded.ts'
import { aBody } from './v2/harness.ts'

/** Denies more than two instances. */
const SMALL = `main = rule {
  job.task_groups[0].count <= 2
}`
const SMALL_REGO = `package jobs

deny contains message if {
  some group in input.job.TaskGroups
  group.Count > 2
  message := sprintf("group %s has %d instances", [group.Name, group.Count])
}`

const OPA = { kind: 'opa', code: SMALL_REGO, name: 'small' } as const
const NATIVE = { kind: 'native', code: SMALL, name: 'small' } as const

const NATIVE_FINDING =
  'rule main, line 2, column 3: job.task_groups[0].count <= 2 is false (job.task_groups[0].count is 3)'
const REGO_FINDING = 'rule deny, line 3, column 1: group app has 3 instances'

const SUBMITS = 'namespace "default" { capabilities = ["submit-job", "read-job"] }'
const OVERRIDES = `namespace "default" {
  capabilities = ["submit-job", "read-job", "policy-override"]
}`

function count(Count: number): Input<Job> {
  return { TaskGroups: [aGroup({ Count })] }
}

async function guardedBy(fields: PolicyFields, set?: object): Promise<GuardedServer> {
  const guarded = await aGuardedServer()
  await guarded.guard(fields, { name: 'limits', ...set })
  return guarded
}

// What each level does, in both languages

interface LevelCase {
  readonly what: string
  readonly policy: PolicyFields
  readonly overridableSet?: boolean
  readonly override: boolean
  /** The status, and what the answer or its warnings say. */
  readonly wanted: readonly [number, string]
}

const HINT = 'PolicyOverride passes over what is listed; it needs the capability policy-override'

function line(level: string, finding: string): string {
  return `policy "small" (${level}) of set "limits" failed: ${finding}`
}

function denied(level: string, finding: string, hint = ''): readonly [number, string] {
  const tail = hint === '' ? '' : `\n${hint}`
  return [403, `job "web" is denied by a policy:\n\t* ${line(level, finding)}${tail}`]
}

function warned(level: string, finding: string, tail = ''): readonly [number, string] {
  return [200, `1 warning:\n\n* ${line(level, finding)}${tail}`]
}

const PASSED_OVER = ' (allowed by PolicyOverride)'

const LEVELS: readonly LevelCase[] = [
  {
    what: 'an advisory policy warns',
    policy: { ...NATIVE, level: 'advisory' },
    override: false,
    wanted: warned('advisory', NATIVE_FINDING),
  },
  {
    what: 'a soft policy denies, and says how it is passed over',
    policy: { ...NATIVE, level: 'soft-mandatory' },
    override: false,
    wanted: denied('soft-mandatory', NATIVE_FINDING, HINT),
  },
  {
    what: 'a soft policy is passed over',
    policy: { ...NATIVE, level: 'soft-mandatory' },
    override: true,
    wanted: warned('soft-mandatory', NATIVE_FINDING, PASSED_OVER),
  },
  {
    what: 'a hard policy denies',
    policy: NATIVE,
    override: false,
    wanted: denied('hard-mandatory', NATIVE_FINDING),
  },
  {
    what: 'a hard policy is never passed over',
    policy: NATIVE,
    override: true,
    wanted: denied('hard-mandatory', NATIVE_FINDING),
  },
  {
    what: 'an overridable set opens its hard policies',
    policy: NATIVE,
    overridableSet: true,
    override: true,
    wanted: warned('hard-mandatory', NATIVE_FINDING, PASSED_OVER),
  },
  {
    what: 'an advisory Rego policy warns',
    policy: { ...OPA, level: 'advisory' },
    override: false,
    wanted: warned('advisory', REGO_FINDING),
  },
  {
    what: 'a mandatory Rego policy denies',
    policy: OPA,
    override: true,
    wanted: denied('mandatory', REGO_FINDING),
  },
  {
    what: 'a mandatory Rego policy of an overridable set is passed over',
    policy: OPA,
    overridableSet: true,
    override: true,
    wanted: warned('mandatory', REGO_FINDING, PASSED_OVER),
  },
]

for (const { what, policy, overridableSet, override, wanted } of LEVELS) {
  test(`register: ${what}`, async () => {
    const { server, register } = await guardedBy(policy, {
      overridable: overridableSet ?? false,
      // Without it a native set cannot be overridable.
      'agent-enabled': overridableSet ?? false,
    })
    const reply = await server.call('registerJob', register(count(3), { PolicyOverride: override }))
    // The harness held it against the contract.
    const { Warnings } = (reply.body ?? {}) as { Warnings?: string }
    assert.deepEqual([reply.status, Warnings ?? reply.text], wanted)
    const stored = await server.call('readJob', { ...ofJob(), token: register().token })
    assert.equal(stored.status, wanted[0] === 200 ? 200 : 404)
    await server.close()
  })
}

test('register: a job that every policy allows is registered without a word', async () => {
  const { server, register } = await guardedBy(NATIVE)
  const { Warnings } = await server.ok('registerJob', register(count(2)))
  assert.equal(Warnings, '')
  assert.equal(server.context.store.tables.policy_verdicts.size, 0)
  await server.close()
})

test('register: every policy that denies is listed, sets and policies by name', async () => {
  const { server, register, policy, set } = await aGuardedServer()
  const broken = await policy({ name: 'broken', code: 'main = rule { job. }' })
  const missing = await policy({ name: 'missing', code: 'main = rule { job.nothing is "x" }' })
  await set([missing, broken], { name: 'b' })
  await set([await policy(NATIVE)], { name: 'a' })
  const [status, text] = await server.refusal('registerJob', register(count(3)))
  assert.equal(status, 403)
  const lines = text.split('\n')
  assert.equal(lines[0], 'job "web" is denied by 3 policies:')
  assert.equal(lines[1], `\t* policy "small" (hard-mandatory) of set "a" failed: ${NATIVE_FINDING}`)
  assert.match(
    lines[2] ?? '',
    /^\t\* policy "broken" \(hard-mandatory\) of set "b" errored: line 1, /,
  )
  assert.match(
    lines[3] ?? '',
    /^\t\* policy "missing" \(hard-mandatory\) of set "b" failed: rule main/,
  )
  assert.equal(lines.length, 4)
  await server.close()
})

// The flag and its capability

for (const { rules, override, status } of [
  { rules: SUBMITS, override: false, status: 403 },
  { rules: SUBMITS, override: true, status: 403 },
  { rules: OVERRIDES, override: false, status: 403 },
  { rules: OVERRIDES, override: true, status: 200 },
])
  test(`register: ${rules === OVERRIDES ? 'with' : 'without'} policy-override and PolicyOverride ${override} answers ${status}`, async () => {
    const { server, as, client, register } = await guardedBy({ ...NATIVE, level: 'soft-mandatory' })
    const { SecretID } = await client(rules)
    const call = as(register(count(3), { PolicyOverride: override }), SecretID)
    const reply = await server.call('registerJob', call)
    assert.equal(reply.status, status, reply.text)
    if (override && status === 403) assert.equal(reply.text, 'Permission denied')
    await server.close()
  })

// What policies see

test('policies see the parameters of their set', async () => {
  const code = 'param max\nmain = rule { job.task_groups[0].count <= max }'
  const { server, register } = await guardedBy({ code }, { params: { max: '5' } })
  await server.ok('registerJob', register(count(5)))
  assert.equal((await server.refusal('registerJob', register(count(6))))[0], 403)
  await server.close()
})

test('policies see the job as it is, the namespace, the token and the variables for policies', async () => {
  const code = `import "service_var"
main = rule {
  job_exists and existing_job.task_groups[0].count is 1 and namespace is "default" and
  service_acl_token.name is "Bootstrap Token" and service_acl_token.secret_id is "" and
  service_var.get("service/native/limits").most is "2" and
  service_var.get("service/native/more@other").a is "b"
}`
  const { server, register, as, guard } = await aGuardedServer()
  await server.ok('registerJob', register(count(1)))
  await server.ok(
    'writeNamespace',
    as({ params: { namespace_name: 'other' }, body: { Name: 'other' } }),
  )
  const put = (path: string, Items: object, namespace = 'default') =>
    server.ok('writeVariable', as({ params: { path }, query: { namespace }, body: { Items } }))
  await put('service/native/limits', { most: '2' })
  await put('service/native/more', { a: 'b' }, 'other')
  await guard({ code })
  const { Warnings } = await server.ok('registerJob', register(count(2)))
  assert.equal(Warnings, '')
  await server.close()
})

test('findings show neither sensitive parameters nor variables', async () => {
  const { it, server, register, as, policy, set } = await aGuardedServer()
  await server.ok(
    'writeVariable',
    as({ params: { path: 'service/native/code' }, body: { Items: { code: 'open sesame' } } }),
  )
  const [first, second] = [
    await policy({ code: 'param code\nmain = rule { job.name is code }' }),
    await policy({
      code: 'import "service_var"\nmain = rule { job.name is service_var.get("service/native/code").code }',
    }),
  ]
  const id = await set([first, second])
  await it.created('createPolicySetParameter', {
    params: { policy_set_id: id },
    body: aBody('vars', {
      key: 'code',
      value: 'abracadabra',
      sensitive: true,
      category: 'policy-set',
    }),
  })
  const [status, text] = await server.refusal('registerJob', register())
  assert.equal(status, 403)
  assert.equal(text.split('(hidden)').length, 3)
  assert.doesNotMatch(text, /sesame|abracadabra/)
  await server.close()
})

// Which sets apply

test('a set of a project guards the namespaces of the project, unless the project is excluded', async () => {
  const { it, server, register, as, policy, set } = await aGuardedServer()
  const project = await it.project('acme', { name: 'shop' })
  await server.ok(
    'writeNamespace',
    as({ params: { namespace_name: 'shop' }, body: { Name: 'shop' } }),
  )
  const small = await policy(NATIVE)
  await set([small], { name: 'limits', projects: [project.id] })
  const inShop = { ...register({ ...count(3), Namespace: 'shop' }) }
  await server.ok('registerJob', inShop)
  await it.done('addProjectNamespaces', {
    params: { project_id: project.id },
    body: { data: [{ type: 'namespaces', id: 'shop' }] },
  })
  assert.equal((await server.refusal('registerJob', inShop))[0], 403)
  await server.ok('registerJob', register(count(3)))
  const excluding = await set([small], {
    name: 'everywhere',
    global: true,
    'project-exclusions': [project.id],
  })
  const [, text] = await server.refusal('registerJob', inShop)
  assert.doesNotMatch(text, /everywhere/)
  await it.ok('updatePolicySet', {
    params: { policy_set_id: excluding },
    body: aBody('policy-sets', {}, { 'project-exclusions': { data: [] } }),
  })
  const [, both] = await server.refusal('registerJob', inShop)
  assert.match(both, /of set "everywhere"[^]*of set "limits"/)
  await server.close()
})

test('a policy that is taken out of its set, changed or deleted denies no more', async () => {
  const { it, server, register, guard, upload } = await aGuardedServer()
  const { policy, set } = await guard(NATIVE)
  const deny = async () =>
    assert.equal((await server.refusal('registerJob', register(count(3))))[0], 403)
  const allow = async () => void (await server.ok('registerJob', register(count(3))))
  const body = { data: [{ type: 'policies', id: policy }] }
  await deny()
  await it.done('removePolicySetPolicies', { params: { policy_set_id: set }, body })
  await allow()
  await it.done('addPolicySetPolicies', { params: { policy_set_id: set }, body })
  await deny()
  await upload(policy, SMALL.replace('2', '3'))
  await allow()
  await upload(policy, SMALL)
  await deny()
  await it.done('deletePolicySet', { params: { policy_set_id: set } })
  await allow()
  await server.close()
})

// Every other way in which a job comes or changes

test('update is held to policies like create', async () => {
  const { server, register } = await guardedBy(NATIVE)
  const [status] = await server.refusal('updateJob', { ...register(count(3)), ...ofJob() })
  assert.equal(status, 403)
  await server.close()
})

test('the status of a job names the denial of its last submission', async () => {
  const { server, register, as } = await guardedBy(NATIVE)
  await server.ok('registerJob', register(count(1)))
  const failure = async () => (await server.ok('listJobStatuses', as({})))[0]?.Failure
  assert.equal(await failure(), null)
  await server.refusal('updateJob', { ...register(count(3)), ...ofJob() })
  const denial = (await failure()) ?? assert.fail()
  assert.equal(denial.Kind, 'denied')
  assert.match(denial.Text, /^policy "\S+" denied the last submission: ./)
  await server.close()
})

test('plan tells all verdicts and changes nothing', async () => {
  const { server, register, policy, set } = await aGuardedServer()
  const names = [
    await policy({ ...NATIVE, name: 'hard' }),
    await policy({ ...NATIVE, name: 'soft', level: 'soft-mandatory' }),
    await policy({ ...NATIVE, name: 'softly', level: 'advisory', description: 'be small' }),
    await policy({ name: 'unconcerned', code: 'main = true' }),
  ]
  await set(names, { name: 'limits' })
  const { index } = server.context.store
  const plan = (request: object = {}) =>
    server.ok('planJob', { ...register(count(3), request), ...ofJob() })
  const { PolicyVerdicts, Warnings } = await plan()
  assert.deepEqual(
    PolicyVerdicts?.map((one) => [one.Policy, one.Level, one.Status, one.Effect, one.Overridable]),
    [
      ['hard', 'hard-mandatory', 'failed', 'denies', false],
      ['soft', 'soft-mandatory', 'failed', 'denies', true],
      ['softly', 'advisory', 'failed', 'warns', false],
      ['unconcerned', 'hard-mandatory', 'passed', 'passes', false],
    ],
  )
  assert.deepEqual(PolicyVerdicts?.[2]?.Findings, [
    {
      Rule: 'main',
      Line: 2,
      Column: 3,
      Message: 'job.task_groups[0].count <= 2 is false (job.task_groups[0].count is 3)',
    },
  ])
  assert.equal(PolicyVerdicts?.[2]?.Description, 'be small')
  assert.equal(
    Warnings,
    [
      '3 warnings:\n',
      `* would be denied: ${line('hard-mandatory', NATIVE_FINDING).replace('small', 'hard')}`,
      `* would be denied: ${line('soft-mandatory', NATIVE_FINDING).replace('small', 'soft')}`,
      `* ${line('advisory', NATIVE_FINDING).replace('small', 'softly')}`,
    ].join('\n'),
  )
  const overriding = await plan({ PolicyOverride: true })
  assert.deepEqual(
    overriding.PolicyVerdicts?.map(({ Effect }) => Effect),
    ['denies', 'overridden', 'warns', 'passes'],
  )
  assert.deepEqual([server.context.store.index, server.context.store.tables.jobs.size], [index, 0])
  await server.close()
})

test('plan: where no policy applies there are no verdicts', async () => {
  const { server, register } = await aGuardedServer()
  const { PolicyVerdicts } = await server.ok('planJob', { ...register(count(3)), ...ofJob() })
  assert.equal(PolicyVerdicts, null)
  await server.close()
})

test('scale: the job with its new count is judged; an event alone is not', async () => {
  const { server, as, register, guard } = await aGuardedServer()
  await server.ok('registerJob', register(count(2)))
  await guard({ ...NATIVE, level: 'soft-mandatory' }, { name: 'limits' })
  const scale = (Count: number | undefined, request: object = {}) =>
    server.call(
      'scaleJob',
      as({ ...ofJob(), body: { Count, Target: { Group: 'app' }, Message: 'm', ...request } }),
    )
  const refused = await scale(3)
  assert.deepEqual([refused.status, refused.text], denied('soft-mandatory', NATIVE_FINDING, HINT))
  assert.equal((await scale(undefined)).status, 200)
  assert.equal((await scale(1)).status, 200)
  const passed = await scale(3, { PolicyOverride: true })
  // The harness held it against the contract.
  const { Warnings } = passed.body as { Warnings: string }
  assert.deepEqual([passed.status, Warnings], warned('soft-mandatory', NATIVE_FINDING, PASSED_OVER))
  await server.close()
})

test('revert: the version that comes back is judged by the policies of today', async () => {
  const { server, as, register, guard } = await aGuardedServer()
  await server.ok('registerJob', register(count(3)))
  await server.ok('registerJob', register(count(1)))
  await guard({ ...NATIVE, level: 'soft-mandatory' }, { name: 'limits' })
  const revert = (request: object = {}) =>
    server.call('revertJob', as({ ...ofJob(), body: { JobID: 'web', JobVersion: 0, ...request } }))
  const refused = await revert()
  assert.deepEqual([refused.status, refused.text], denied('soft-mandatory', NATIVE_FINDING, HINT))
  assert.equal((await revert({ PolicyOverride: true })).status, 200)
  await server.close()
})

test('dispatch: the child is judged, with its payload and metadata', async () => {
  const { server, as, register, guard } = await aGuardedServer()
  const parent: Input<Job> = {
    ...PARAMETERIZED,
    ParameterizedJob: { Payload: 'optional', MetaOptional: ['size'] },
    TaskGroups: [aGroup({ tasks: [aTask({ Driver: 'raw_exec' })] })],
  }
  await server.ok('registerJob', register(parent))
  await guard(
    {
      name: 'small',
      level: 'soft-mandatory',
      code: 'main = rule { job.parent_id is "" or job.meta["size"] is not "huge" }',
    },
    { name: 'limits' },
  )
  const dispatch = (size: string, request: object = {}) =>
    server.call('dispatchJob', as({ ...ofJob(), body: { Meta: { size }, ...request } }))
  assert.equal((await dispatch('tiny')).status, 200)
  const refused = await dispatch('huge')
  assert.equal(refused.status, 403)
  assert.match(refused.text, /^job "web" is denied by a policy:\n\t\* policy "small"/)
  const passed = await dispatch('huge', { PolicyOverride: true, PolicyOverrideComment: 'once' })
  assert.equal(passed.status, 200)
  // The harness held it against the contract.
  assert.match((passed.body as { Warnings: string }).Warnings, /allowed by PolicyOverride/)
  const verdicts = await server.ok('listJobVerdicts', as(ofJob()))
  assert.deepEqual(
    verdicts.map(({ Operation, Result, Comment }) => [Operation, Result, Comment]),
    [
      ['dispatch', 'denied', ''],
      ['dispatch', 'overridden', 'once'],
    ],
  )
  await server.close()
})

for (const id of ['scaleJob', 'revertJob', 'dispatchJob'] as const)
  test(`${id}: PolicyOverride needs policy-override`, async () => {
    const { server, as, client } = await aGuardedServer()
    const { SecretID } = await client('namespace "default" { policy = "write" }')
    const { SecretID: own } = await client(
      'namespace "default" { capabilities = ["submit-job", "dispatch-job"] }',
    )
    const body = { JobID: 'web', PolicyOverride: true }
    assert.deepEqual(await server.refusal(id, as({ ...ofJob(), body }, own)), [
      403,
      'Permission denied',
    ])
    assert.notDeepEqual(await server.refusal(id, as({ ...ofJob(), body: {} }, SecretID)), [
      403,
      'Permission denied',
    ])
    await server.close()
  })
