import assert from 'node:assert/strict'
import test from 'node:test'
import { createClient, resource, toMany, type Client } from '@reeve/sdk'
import { EXIT_CODES } from '../../src/cli/index.ts'
import { aCommandLine, commandLineAt } from '../build/cli.ts'
import { temporaryDirectory } from '../build/temporary-directory.ts'

/** Long enough to be there when it is looked for; small enough for any node. */
function jobFile(id: string, memoryMB = 20): string {
  return `job "${id}" {
  group "app" {
    task "wait" {
      driver = "raw_exec"
      config {
        command = "/bin/sleep"
        args    = ["600"]
      }
      resources {
        cpu    = 20
        memory = ${memoryMB}
      }
    }
  }
}
`
}

const DENIAL = '\t* policy "small" (hard-mandatory) of set "limits" failed: rule main,'

/** A policy on the namespace `guarded`: no task gets more than 100 MB. */
async function guard(client: Client): Promise<void> {
  const owner = { organization_name: 'acme' }
  await client.v2.createOrganization({
    body: resource('organizations', { name: 'acme', email: 'ops@example.com' }),
  })
  const code =
    'main = rule {\n  all job.task_groups as group {\n' +
    '    all group.tasks as task { task.resources.memory_mb <= 100 }\n  }\n}\n'
  const attributes = {
    name: 'small',
    kind: 'native',
    'enforcement-level': 'hard-mandatory',
  } as const
  const { data } = await client.v2.createPolicy({
    params: owner,
    body: resource('policies', attributes),
  })
  await client.v2.uploadPolicy({ params: { policy_id: data.data.id }, body: code })
  await client.v2.createPolicySet({
    params: owner,
    body: resource(
      'policy-sets',
      { name: 'limits' },
      {
        policies: toMany('policies', [data.data.id]),
        namespaces: toMany('namespaces', ['guarded']),
      },
    ),
  })
}

test('mistakes: no server', async (t) => {
  const directory = await temporaryDirectory(t)
  // Port 1 of this machine: nothing listens there.
  const address = 'http://127.0.0.1:1'
  const reeve = commandLineAt({ address, client: createClient({ address }), directory })
  const lines = [
    'reeve job status: Cannot connect to the server at http://127.0.0.1:1 (from REEVE_ADDR).',
    'Start one with "reeve agent --dev", or set another address with --address or REEVE_ADDR.',
  ]
  const wanted = { code: EXIT_CODES.unreachable, out: '', err: `${lines.join('\n')}\n` }
  assert.deepEqual(await reeve.run('job status'), wanted)
  assert.deepEqual(await reeve.spawn('job status'), wanted)
})

test('mistakes: what the server refuses', async (t) => {
  const bench = await aCommandLine(t, ['--acl'])
  const { data: root } = await bench.client.v1.bootstrapAcl({ body: {} })
  const token = root.SecretID
  const client = createClient({ address: bench.address, token })
  const asRoot = { environment: { REEVE_TOKEN: token } }
  await client.v1.writeNamespace({ body: { Name: 'guarded' } })
  await client.v1.writeAclPolicy({
    params: { policy_name: 'readers' },
    body: { Name: 'readers', Rules: 'namespace "default" { policy = "read" }' },
  })
  const reader = await client.v1.createAclToken({
    body: { Type: 'client', Policies: ['readers'] },
  })
  await guard(client)
  await bench.file('web.hcl', jobFile('web'))
  await bench.file('large.hcl', jobFile('large', 9_000_000))
  await bench.file('away.hcl', jobFile('away').replace('{', '{\n  region = "mars"'))
  await bench.file('wrong.hcl', jobFile('wrong', 5).replace('"app" {', '"app" {\n count = -1'))
  await bench.file('api.json', '{"ID": "api", "Datacenters": ["*"], "TaskGroupz": []}')
  for (const id of ['web', 'web-two', 'web-three'])
    await bench.ok(['job', 'run', '--detach', '-'], { ...asRoot, input: jobFile(id) })
  const inGuarded = ['job', 'run', '--detach', '--namespace', 'guarded', '-']
  await bench.ok(inGuarded, { ...asRoot, input: jobFile('hidden') })

  const cases = [
    {
      name: 'the token is missing',
      line: 'job status web',
      options: {},
      code: EXIT_CODES.denied,
      err: [
        'reeve job status: Permission denied',
        'No token was sent. Run "reeve login", or set --token or REEVE_TOKEN.',
      ],
    },
    {
      name: 'the token is unknown',
      line: 'job status --token 6ba7b810-9dad-11d1-80b4-00c04fd430c8',
      options: {},
      code: EXIT_CODES.denied,
      err: [
        'reeve job status: Permission denied',
        'The token (from --token) lacks namespace:list-jobs in namespace "default", or is unknown. ' +
          '"reeve acl token self" shows what it may do.',
      ],
    },
    {
      name: 'the token lacks a capability',
      line: 'job run web.hcl',
      options: { environment: { REEVE_TOKEN: reader.data.SecretID } },
      code: EXIT_CODES.denied,
      err: [
        'reeve job run: Permission denied',
        'The token (from REEVE_TOKEN) lacks namespace:submit-job or namespace:register-job ' +
          'in namespace "default", or is unknown. "reeve acl token self" shows what it may do.',
      ],
    },
    {
      name: 'the job is unknown',
      line: 'job status nothing',
      options: asRoot,
      code: EXIT_CODES.missing,
      err: [
        'reeve job status: There is no job "nothing" in namespace "default".',
        'For a list, run "reeve job status".',
      ],
    },
    {
      name: 'the beginning fits several jobs',
      line: 'job stop web-t',
      options: asRoot,
      code: EXIT_CODES.missing,
      err: [
        'reeve job stop: Several jobs begin with "web-t":',
        '  web-three',
        '  web-two',
        'Type a longer prefix.',
      ],
    },
    {
      name: 'the index is stale',
      line: 'job run --check-index 1 web.hcl',
      options: asRoot,
      code: EXIT_CODES.conflict,
      err: [
        /^reeve job run: Enforcing job modify index 1: job exists with conflicting job modify index: \d+\.$/,
        'The job was modified after it was planned. To plan it again:',
        '',
        '  reeve job plan web.hcl',
      ],
    },
    {
      name: 'a policy denies it',
      line: 'job run --namespace guarded large.hcl',
      options: asRoot,
      code: EXIT_CODES.refusedByPolicy,
      err: [
        'reeve job run: job "large" is denied by a policy:',
        `${DENIAL} line 3, column 31: task.resources.memory_mb <= 100 is false (task.resources.memory_mb is 9000000)`,
        `${DENIAL} line 3, column 5: all group.tasks as task { task.resources.memory_mb <= 100 } is false (element of group.tasks is 0)`,
        `${DENIAL} line 2, column 3: all job.task_groups as group { all group.tasks as task { task.resources.memory_mb <= 100 } } is false (element of job.task_groups is 0)`,
        'This denial cannot be overridden; change the job so that the policies pass.',
      ],
    },
    {
      name: 'the job is in another namespace',
      line: 'job status hidden',
      options: asRoot,
      code: EXIT_CODES.missing,
      err: [
        'reeve job status: There is no job "hidden" in namespace "default".',
        'There is one in namespace "guarded": give --namespace guarded.',
      ],
    },
    {
      name: 'the region of the file is not known',
      line: 'job plan away.hcl',
      options: asRoot,
      code: EXIT_CODES.missing,
      err: [
        'reeve job plan: No path to region',
        'The job file sets the region; override it with --region. ' +
          '"reeve server members" lists the regions that this server knows.',
      ],
    },
    ...['run', 'plan'].map((verb) => ({
      name: `job ${verb}: what the server finds wrong is told with its place in the file`,
      line: `job ${verb} wrong.hcl`,
      options: asRoot,
      code: EXIT_CODES.failed,
      err: [
        `reeve job ${verb}: 2 problems in wrong.hcl:`,
        '',
        "wrong.hcl:3,10-12: TaskGroups[0].Count: Task group count can't be negative",
        'wrong.hcl:12,18-19: TaskGroups[0].Tasks[0].Resources.MemoryMB: minimum MemoryMB value is 10; got 5',
      ],
    })),
    {
      name: 'a job as the API has it, with a name that is wrong',
      line: 'job run api.json',
      options: asRoot,
      code: EXIT_CODES.failed,
      err: ['reeve job run: 1 problem in api.json:', '', 'TaskGroups: Missing job task groups'],
    },
    {
      name: 'the namespace does not exist',
      line: 'job run --namespace nowhere web.hcl',
      options: asRoot,
      code: EXIT_CODES.failed,
      err: [
        /^reeve job run: .*nonexistent namespace "nowhere"/,
        '"reeve namespace list" lists those that exist.',
      ],
    },
  ]
  for (const { name, line, options, code, err } of cases)
    await t.test(`mistakes: ${name}`, async () => {
      const ended = await bench.run(line, options)
      assert.equal(ended.code, code, ended.err)
      assert.equal(ended.out, '')
      matchLines(ended.err, err)
    })

  await t.test('mistakes: nothing fits', async () => {
    const ended = await bench.run('job run large.hcl', asRoot)
    assert.equal(ended.code, EXIT_CODES.unplaced, ended.err)
    matchLines(ended.out, [
      /^Job "large" is registered \(evaluation [0-9a-f]{8}\)\.$/,
      /^Evaluation [0-9a-f]{8} is complete\.$/,
    ])
    matchLines(ended.err, [
      'Group "app": 1 allocation could not be placed.',
      '  * not enough: memory (1 node)',
      'They will be placed when capacity is available. To see what is missing:',
      '',
      '  reeve job explain large',
    ])
    const planned = await bench.run('job plan large.hcl', asRoot)
    assert.equal(planned.code, EXIT_CODES.unplaced)
    assert.ok(!planned.out.includes('started'), planned.out)
    const explained = await bench.run('job explain large', asRoot)
    assert.equal(explained.code, EXIT_CODES.unplaced)
    assert.match(explained.out, /Would be placed with:/)
  })

  await t.test(
    'mistakes: a plan says that a policy would deny it, and ends with its code',
    async () => {
      const ended = await bench.run('job plan --namespace guarded large.hcl', asRoot)
      assert.equal(ended.code, EXIT_CODES.refusedByPolicy, ended.err)
      assert.match(
        ended.out,
        /Policy "small" of set "limits" \(hard-mandatory\) denies it\.\n {2}\* /,
      )
      assert.match(ended.out, /It would be denied: change the job so that the policies pass\.\n$/)
    },
  )
})

const BROKEN = `job "web" {
  group "app" {
    task "wait" {
      drivr = "raw_exec"
    }
  }
}
`

const UNSENT = ['', 'Nothing was sent to the server. "reeve job init" writes a valid example.']

test('mistakes: the file', async (t) => {
  const directory = await temporaryDirectory(t)
  const address = 'http://127.0.0.1:1'
  const reeve = commandLineAt({ address, client: createClient({ address }), directory })
  await reeve.file('broken.hcl', BROKEN)
  await reeve.file('agent.hcl', 'datacenter = "dc1"\n')
  await reeve.file('empty.hcl', '')
  await reeve.file('count.hcl', `variable "count" {\n  type = number\n}\n${jobFile('web')}`)
  await reeve.file('broken.vars', 'count = lots\n')
  await reeve.file('api.json', '{"Job": {"TaskGroups": []}}')
  const cases = [
    {
      name: 'what is wrong in it is shown with its place, before a server is asked',
      line: 'job run broken.hcl',
      err: [
        'reeve job run: 1 error in broken.hcl:',
        '',
        'broken.hcl:4,7-12: Unsupported argument; An argument named "drivr" is not expected here. Did you mean "driver"?',
        '  4 |       drivr = "raw_exec"',
        '    |       ^~~~~',
        ...UNSENT,
      ],
    },
    {
      name: 'there is none of the name',
      line: 'job plan web.hcl',
      err: [
        'reeve job plan: There is no file web.hcl here.',
        '"reeve job init" writes a first job file; "-" reads standard input.',
      ],
    },
    {
      name: 'it is a directory',
      line: 'job run .',
      err: ['reeve job run: . is a directory.', 'Name a job file in it.'],
    },
    {
      name: 'it is no job file',
      line: 'job run agent.hcl',
      err: [
        'reeve job run: 2 errors in agent.hcl:',
        '',
        'agent.hcl:1,1-11: Unsupported argument; An argument named "datacenter" is not expected here.',
        '  1 | datacenter = "dc1"',
        '    | ^~~~~~~~~~',
        '',
        'agent.hcl:1,1-1: Missing job block; A job file has exactly one block: job "name" { … }.',
        '  1 | datacenter = "dc1"',
        '    | ^',
        ...UNSENT,
      ],
    },
    {
      name: 'there is no variable file of the name',
      line: 'job run --var-file nofile.hcl count.hcl',
      err: [
        'reeve job run: There is no file nofile.hcl here.',
        '--var-file names a file with values of variables, such as: count = 3',
      ],
    },
    {
      name: 'a variable file is wrong, and not the job file',
      line: 'job run --var-file broken.vars count.hcl',
      err: [
        'reeve job run: 1 error in broken.vars:',
        '',
        /^broken\.vars:1,9-\d+: /,
        '  1 | count = lots',
        '    |         ^~~~',
        '',
        'Nothing was sent to the server.',
      ],
    },
    {
      name: 'a job as the API has it needs an ID',
      line: 'job run api.json',
      err: ['reeve job run: The job in api.json has no ID.'],
    },
    {
      name: 'it is empty',
      line: 'job run empty.hcl',
      err: [
        'reeve job run: 1 error in empty.hcl:',
        '',
        'empty.hcl:1,1-1: Missing job block; A job file has exactly one block: job "name" { … }.',
        '  1 | ',
        '    | ^',
        ...UNSENT,
      ],
    },
  ]
  for (const { name, line, err } of cases)
    await t.test(`mistakes: the file: ${name}`, async () => {
      const ended = await reeve.run(line)
      assert.equal(ended.code, EXIT_CODES.failed)
      matchLines(ended.err, err)
    })
})

/** A whole text, line by line; patterns where ids or numbers differ. */
function matchLines(text: string, wanted: readonly (string | RegExp)[]): void {
  const lines = text.replace(/\n$/, '').split('\n')
  for (const [at, line] of wanted.entries()) {
    if (typeof line === 'string') assert.equal(lines[at], line, text)
    else assert.match(lines[at] ?? '', line, text)
  }
  assert.equal(lines.length, wanted.length, text)
}
