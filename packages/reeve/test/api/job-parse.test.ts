import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { JobParseRequest, ParsedJob } from '@reeve/contract'
import { LIMITS } from '../../src/model/index.ts'
import { JobFileReader } from '../../src/workload/index.ts'
import { createTestServer, STILL, type Reply } from './harness.ts'
import { aSecuredServer } from './secured.ts'

const server = await createTestServer({ aclEnabled: false })
after(() => server.close())

async function parse(body: JobParseRequest): Promise<ParsedJob> {
  return await server.ok('parseJob', { body })
}

async function refuse(body: unknown): Promise<readonly [number, string]> {
  return await server.refusal('parseJob', { body })
}

const WEB = `job "web" {
  group "app" {
    count = 2
    task "main" {
      driver = "exec"
      config {
        command = "/bin/app"
        args    = ["\${attr.kernel.name}"]
      }
    }
  }
}`

test('parse: what the text does not set is null, and references for run time stay text', async () => {
  const job = await parse({ JobHCL: WEB })
  assert.deepEqual([job.ID, job.Name, job.Priority, job.Region], ['web', 'web', null, null])
  const [group] = job.TaskGroups ?? []
  assert.deepEqual([group?.Name, group?.Count, group?.RestartPolicy], ['app', 2, null])
  const config = group?.Tasks?.[0]?.Config
  assert.deepEqual(config, { command: '/bin/app', args: ['${attr.kernel.name}'] })
})

test('parse: Canonicalize fills in defaults, the namespace of the request among them', async () => {
  const body = { JobHCL: WEB, Canonicalize: true }
  const job = await parse(body)
  assert.deepEqual([job.Priority, job.Region, job.Namespace], [50, 'global', 'default'])
  assert.equal(job.TaskGroups?.[0]?.RestartPolicy?.Attempts, 2)
  const elsewhere = await server.ok('parseJob', { body, query: { namespace: 'prod' } })
  assert.equal(elsewhere.Namespace, 'prod')
  const anywhere = await server.ok('parseJob', { body, query: { namespace: '*' } })
  assert.equal(anywhere.Namespace, 'default')
})

test('parse: what it answers can be registered as it is', async () => {
  const Job = await parse({ JobHCL: WEB })
  const written = await server.ok('registerJob', { body: { Job } })
  assert.notEqual(written.EvalID, '')
})

test('parse: no source and no secret is in the answer', async () => {
  const { body } = await server.call('parseJob', { body: { JobHCL: WEB } })
  assert.ok(typeof body === 'object' && body !== null)
  assert.ok(!('Submission' in body))
})

const VARIABLES = `variable "count" {
  type = number
}
job "web" {
  group "app" {
    count = var.count
  }
}`

test('parse: Variables are read as a variable file, and unknown names do no harm', async () => {
  const job = await parse({ JobHCL: VARIABLES, Variables: 'count = 3\nother = "x"\n' })
  assert.equal(job.TaskGroups?.[0]?.Count, 3)
})

test('parse: the JSON form of a job file is found by its first brace', async () => {
  const text = JSON.stringify({ job: { web: { group: { app: { count: 4 } } } } })
  const job = await parse({ JobHCL: text })
  assert.deepEqual([job.ID, job.TaskGroups?.[0]?.Count], ['web', 4])
})

test('parse: HCLv1 reads the older syntax, in which every interpolation is text', async () => {
  const text = 'job "old" { priority = "70" meta { a = "${var.x}" } meta { b = 1 } }'
  const job = await parse({ JobHCL: text, HCLv1: true })
  assert.deepEqual([job.ID, job.Priority, job.Meta], ['old', 70, { a: '${var.x}', b: '1' }])
})

const REFUSED: readonly { name: string; body: unknown; text: RegExp }[] = [
  { name: 'no body', body: '', text: /^Request body is empty$/ },
  { name: 'no text', body: {}, text: /^Job spec is empty$/ },
  { name: 'an empty text', body: { JobHCL: '' }, text: /^Job spec is empty$/ },
  { name: 'a text of blanks', body: { JobHCL: ' \n' }, text: /^Job spec is empty$/ },
  {
    name: 'a text that is none',
    body: { JobHCL: 1 },
    text: /^json: cannot unmarshal number into field JobHCL/,
  },
  {
    name: 'broken syntax',
    body: { JobHCL: 'job "web" {\n  group "app" {\n}\n' },
    text: /^Failed to parse job: input\.hcl:2,15-16: Unclosed block; [^\n]*$/,
  },
  {
    name: 'several mistakes, each on a line of its own',
    body: {
      JobHCL: 'job "web" {\n  colour = 1\n  group "g" {\n    count = "x"\n  }\n}\nextra {}\n',
    },
    text: /^Failed to parse job: input\.hcl:2,3-9: Unsupported argument; .*\ninput\.hcl:4,13-16: Incorrect value type; .*\ninput\.hcl:7,1-6: Unsupported block type; .*$/,
  },
  {
    name: 'a variable without a value',
    body: { JobHCL: VARIABLES },
    text: /^Failed to parse job: input\.hcl:1,10-17: Unset variable; .*"count"/,
  },
  {
    name: 'a broken variable text',
    body: { JobHCL: VARIABLES, Variables: 'count = ' },
    text: /^Failed to parse job: variables\.hcl:1,9/,
  },
  {
    name: 'a function that reads files',
    body: { JobHCL: 'job "web" {\n  meta = { a = file("/etc/passwd") }\n}' },
    text: /^Failed to parse job: input\.hcl:2,.*filesystem function disabled/,
  },
  {
    name: 'the new syntax read as the older one',
    body: { JobHCL: 'job "web" {\n  count = 1 + 2\n}', HCLv1: true },
    text: /^Failed to parse job: input\.hcl:2,/,
  },
  {
    name: 'a text that is too long',
    body: { JobHCL: `job "web" {}\n${'#'.repeat(1024 * 1024)}` },
    text: /^Failed to parse job: input\.hcl:1,1-1: Text too long; .* at most 1048576 characters\.$/,
  },
  {
    name: 'work without end',
    body: {
      JobHCL: `locals {\n l = range(1000)\n}\njob "web" {\n meta = {a = length([for a in local.l : [for b in local.l : [for c in local.l : 1]]])}\n}`,
    },
    text: /^Failed to parse job: input\.hcl:5,.*Evaluation too expensive/,
  },
  {
    name: 'a job that grows beyond what can be registered',
    body: {
      JobHCL: `locals {\n s = "${'x'.repeat(100_000)}"\n}\njob "web" {\n meta = {\n${Array.from({ length: 50 }, (_, i) => ` a${i} = local.s`).join('\n')}\n}\n}`,
    },
    text: /^Failed to parse job: The job has 50\d+ characters as JSON; at most 4194304 can be registered\.$/,
  },
]

for (const { name, body, text } of REFUSED)
  test(`parse: ${name} is refused`, async () => {
    const [status, found] = await refuse(body)
    assert.equal(status, 400)
    assert.match(found, text)
  })

const RULES = [
  { rules: '"parse-job", "submit-job"', status: 200 },
  { rules: '"parse-job"', status: 403 },
  { rules: '"submit-job"', status: 403 },
  { rules: '"read-job"', status: 403 },
]

test('parse: both capabilities are needed, in the namespace of the request', async () => {
  const secured = await aSecuredServer()
  for (const { rules, status } of RULES) {
    const token = await secured.client(`namespace "default" { capabilities = [${rules}] }`)
    const call = secured.as(token, { body: { JobHCL: 'job "j" {}' } })
    assert.equal((await secured.server.call('parseJob', call)).status, status, rules)
    const elsewhere = { ...call, query: { namespace: 'other' } }
    assert.equal((await secured.server.call('parseJob', elsewhere)).status, 403, rules)
  }
  await secured.server.close()
})

test('parse: who may not is not told what is wrong with the text', async () => {
  const secured = await aSecuredServer()
  const refusal = await secured.server.refusal('parseJob', { body: { JobHCL: 'job' } })
  assert.deepEqual(refusal, [403, 'Permission denied'])
  await secured.server.close()
})

test('parse: while one file is read, others wait and the server goes on', async () => {
  const slow = {
    JobHCL: `job "j" {\n meta = { a = length([for a in range(1000) : [for b in range(1000) : a]]) }\n}`,
  }
  const order: string[] = []
  const note = (name: string) => (reply: Reply) => void order.push(`${name} ${reply.status}`)
  await Promise.all([
    server.call('parseJob', { body: slow }).then(note('first')),
    server.call('parseJob', { body: { JobHCL: 'job "j" {}' } }).then(note('second')),
    server.call('readLeader').then(note('leader')),
  ])
  assert.deepEqual(order, ['leader 200', 'first 400', 'second 200'])
})

test('parse: a token with more files than may wait is refused; others are served in turn', async () => {
  // A thread of its own, which is not ready before all files wait.
  const jobFiles = new JobFileReader({ clock: STILL })
  const { server: secured, client, as } = await aSecuredServer({ jobFiles })
  const rules = 'namespace "default" { capabilities = ["parse-job", "submit-job"] }'
  const [flooding, other] = [await client(rules), await client(rules)]
  const body = { JobHCL: 'job "j" {}' }
  const ended: string[] = []
  const call = async (name: string, token: typeof other) => {
    const reply = await secured.call('parseJob', as(token, { body }))
    ended.push(`${name} ${reply.status}`)
    return reply
  }
  const flood = Array.from({ length: LIMITS.jobFilesWaitingPerTenantMax + 5 }, () =>
    call('flood', flooding),
  )
  assert.equal((await call('other', other)).status, 200)
  const replies = await Promise.all(flood)
  const refused = replies.filter(({ status }) => status === 429)
  assert.ok(refused.length > 0)
  assert.match(refused[0]?.text ?? '', /limit 32 per tenant\); retry when some of them are done/)
  // The first file of the flood is being read, the next turn is the other token's.
  const turn = ended.filter((one) => one.endsWith('200')).indexOf('other 200')
  assert.ok(turn <= 2, `its turn came after ${turn} files`)
  await secured.close()
  await jobFiles.stop()
})
