import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { putNode, register, withScheduler } from './cluster.ts'
import { createTestServer, type TestServer } from './harness.ts'

async function open(t: TestContext, compatibility = true, aclEnabled = false): Promise<TestServer> {
  const server = await createTestServer({ compatibility, aclEnabled })
  t.after(() => server.close())
  return server
}

async function managementToken(server: TestServer): Promise<string> {
  const { body } = await server.call('bootstrapAcl')
  assert.ok(typeof body === 'object' && body !== null && 'SecretID' in body)
  return String(body.SecretID)
}

function job(task: object, service: object = {}): object {
  const Tasks = [{ Name: 't', Driver: 'raw_exec', Config: { command: '/bin/true' }, ...task }]
  const Services = [{ Name: 'api', PortLabel: 'http', ...service }]
  const Networks = [{ DynamicPorts: [{ Label: 'http' }] }]
  return { Job: { ID: 'web', TaskGroups: [{ Name: 'g', Tasks, Services, Networks }] } }
}

test('headers: the token and all that answers tell have a second name', async (t) => {
  const server = await open(t, true, true)
  const token = await managementToken(server)
  const headers = { 'X-Nomad-Token': token }
  const read = await server.send('GET', '/v1/acl/tokens', { headers })
  assert.equal(read.status, 200)
  for (const name of ['index', 'knownleader', 'lastcontact'])
    assert.equal(read.headers[`x-nomad-${name}`], read.headers[`x-service-${name}`], name)
  assert.equal(read.headers['x-nomad-knownleader'], 'true')
  const body = { Name: 'reader', Rules: 'node { policy = "read" }' }
  const write = await server.send('PUT', '/v1/acl/policy/reader', { headers, body })
  assert.ok(Number(write.headers['x-nomad-index']) > read.index)
  const missing = await server.send('GET', '/v1/job/nope', { headers })
  assert.equal(missing.status, 404)
  assert.equal(missing.headers['x-nomad-index'], missing.headers['x-service-index'])
  for (const name of ['a', 'b']) {
    const rule = { Name: name, Rules: 'node { policy = "read" }' }
    await server.send('PUT', `/v1/acl/policy/${name}`, { headers, body: rule })
  }
  const page = await server.send('GET', '/v1/namespaces?per_page=1', { headers })
  assert.equal(page.headers['x-nomad-nexttoken'], page.headers['x-service-nexttoken'])
})

test('headers: our own token header wins', async (t) => {
  const server = await open(t, true, true)
  const token = await managementToken(server)
  const headers = { 'X-Nomad-Token': 'unknown', 'X-Service-Token': token }
  assert.equal((await server.send('GET', '/v1/acl/tokens', { headers })).status, 200)
})

test('headers: a page of another origin may send and read the second names too', async (t) => {
  const server = await createTestServer({
    aclEnabled: true,
    compatibility: true,
    corsOrigins: ['https://ui'],
  })
  t.after(() => server.close())
  const asks = { origin: 'https://ui', 'access-control-request-method': 'GET' }
  const { headers } = await server.send('OPTIONS', '/v1/jobs', { headers: asks })
  assert.match(String(headers['access-control-allow-headers']), /x-nomad-token/)
  assert.match(String(headers['access-control-expose-headers']), /x-nomad-index/)
})

test('bodies: fields and providers by their other names', async (t) => {
  const server = await open(t)
  for (const Provider of ['nomad', 'consul']) {
    const body = { ...job({ Vault: { Role: 'r' } }, { Provider }), Canonicalize: true }
    const planned = await server.send('PUT', '/v1/validate/job', { body })
    assert.equal(planned.status, 200, planned.text)
    assert.match(planned.text, /secret_store block/)
    assert.doesNotMatch(planned.text, /provider/)
    const registered = await server.send('PUT', '/v1/jobs', { body: job({}, { Provider }) })
    assert.equal(registered.status, 200, registered.text)
    const { TaskGroups } = await server.ok('readJob', { params: { job_id: 'web' } })
    assert.equal(TaskGroups[0]?.Services?.[0]?.Provider, 'service')
  }
})

test('variables: the directory of workloads has two names, and answers repeat the one asked for', async (t) => {
  const server = await open(t)
  const path = '/v1/var/nomad/jobs/web'
  const written = await server.send('PUT', path, { body: { Items: { a: '1' } } })
  assert.equal(written.status, 200, written.text)
  const read = await server.send('GET', path)
  const own = await server.send('GET', '/v1/var/service/jobs/web')
  const pathsOf = ({ body }: { readonly body: unknown }): unknown =>
    JSON.parse(JSON.stringify([body].flat(), ['Path']))
  assert.deepEqual(pathsOf(read), [{ Path: 'nomad/jobs/web' }])
  assert.deepEqual(pathsOf(own), [{ Path: 'service/jobs/web' }])
  const list = await server.send('GET', '/v1/vars?prefix=nomad/jobs')
  assert.deepEqual(pathsOf(list), [{ Path: 'nomad/jobs/web' }])
  assert.deepEqual(pathsOf(await server.send('GET', '/v1/vars')), [{ Path: 'service/jobs/web' }])
  assert.equal((await server.send('DELETE', path)).status, 204)
  assert.equal((await server.send('GET', '/v1/var/service/jobs/web')).status, 404)
})

test('policies: paths and capabilities by their other names grant and deny the same', async (t) => {
  const server = await open(t, true, true)
  const token = await managementToken(server)
  const Rules = `
    namespace "default" {
      capabilities = ["sentinel-override"]
      variables {
        path "*" { capabilities = ["read"] }
        path "nomad/*" { capabilities = ["deny"] }
      }
    }`
  await server.ok('writeAclPolicy', {
    token,
    params: { policy_name: 'p' },
    body: { Name: 'p', Rules },
  })
  const { SecretID } = await server.ok('createAclToken', {
    token,
    body: { Name: 't', Type: 'client', Policies: ['p'] },
  })
  for (const [path, status] of [
    ['service/jobs/web', 403],
    ['nomad/jobs/web', 403],
    ['elsewhere', 404],
  ] as const) {
    const read = await server.send('GET', `/v1/var/${path}`, { token: SecretID })
    assert.equal(read.status, status, path)
  }
})

const JOB_FILE = `
job "web" {
  group "g" {
    consul { namespace = "n" }
    service {
      name     = "api"
      provider = "nomad"
    }
    task "t" {
      driver = "raw_exec"
      vault { role = "r" }
      config {
        vault { kept = "as it is" }
      }
    }
  }
}`

test('job files: blocks and providers by their other names, but not inside of other configurations', async (t) => {
  const server = await open(t)
  const parsed = await server.ok('parseJob', { body: { JobHCL: JOB_FILE } })
  const [group] = parsed.TaskGroups ?? []
  const [task] = group?.Tasks ?? []
  assert.equal(group?.Discovery?.Namespace, 'n')
  assert.equal(group?.Services?.[0]?.Provider, 'service')
  assert.equal(task?.SecretStore?.Role, 'r')
  assert.deepEqual(task?.Config, { vault: [{ kept: 'as it is' }] })
})

test('compatibility off: nothing of all that is known', async (t) => {
  const server = await open(t, false, true)
  const token = await managementToken(server)
  const other = await server.send('GET', '/v1/acl/tokens', { headers: { 'X-Nomad-Token': token } })
  assert.equal(other.status, 403)
  const read = await server.send('GET', '/v1/acl/tokens', { token })
  assert.deepEqual(
    Object.keys(read.headers).filter((name) => name.startsWith('x-nomad')),
    [],
  )
  const body = job({ Vault: { Role: 'r' } }, { Provider: 'nomad' })
  const validated = await server.send('PUT', '/v1/validate/job', { token, body })
  assert.match(validated.text, /provider \\"nomad\\" is unknown/)
  assert.doesNotMatch(validated.text, /secret_store/)
  const variable = await server.send('PUT', '/v1/var/nomad/jobs/web', {
    token,
    body: { Items: { a: '1' } },
  })
  assert.match(variable.text, /"Path":"nomad\/jobs\/web"/)
  assert.equal((await server.send('GET', '/v1/var/service/jobs/web', { token })).status, 404)
  const Rules = 'namespace "default" { capabilities = ["sentinel-override"] }'
  const rules = await server.send('PUT', '/v1/acl/policy/p', { token, body: { Name: 'p', Rules } })
  assert.equal(rules.status, 400)
})

test('bodies: what only answers tell may hold anything in a request', async (t) => {
  const server = await open(t)
  for (const Status of ['', 'complete', 7, null]) {
    const body = { Job: { ID: 'web', Status, StatusDescription: 1, TaskGroups: [] } }
    const validated = await server.send('PUT', '/v1/validate/job', { body })
    assert.doesNotMatch(validated.text, /unmarshal/)
  }
})

test('services: a number that is no label is the port itself', async (t) => {
  const server = await open(t)
  const literal = await server.send('PUT', '/v1/jobs', { body: job({}, { PortLabel: '8080' }) })
  assert.equal(literal.status, 200, literal.text)
  const wrong = await server.send('PUT', '/v1/jobs', { body: job({}, { PortLabel: '80800' }) })
  assert.match(wrong.text, /port label "80800" referenced by services api does not exist/)
})

test('governance: programs on the Go client send and read the other names of members', async (t) => {
  const server = await open(t, true, true)
  const token = await managementToken(server)
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': 'application/vnd.api+json',
  }
  const ask = async (path: string, data?: object, agent = 'go-tfe') => {
    const method = data === undefined ? 'GET' : 'POST'
    const body = { ...(data !== undefined && { body: { data } }) }
    const sent = { headers: { ...headers, 'user-agent': agent }, ...body }
    const { text } = await server.send(method, `/api/v2${path}`, sent)
    const answer: { readonly data: { readonly id: string; readonly attributes: object } } =
      JSON.parse(text)
    return answer.data
  }
  const made = (type: string, name: string, more = {}) => ({ type, attributes: { name, ...more } })
  await ask('/organizations', made('organizations', 'acme', { email: 'a@example.com' }))
  const version = { 'terraform-version': '1.9.0' }
  const workspaces = '/organizations/acme/workspaces'
  const workspace = await ask(workspaces, made('workspaces', 'web', version))
  const team = await ask('/organizations/acme/teams', made('teams', 'devs'))
  const access = await ask('/team-workspaces', {
    type: 'team-workspaces',
    attributes: { access: 'custom', 'sentinel-mocks': 'read' },
    relationships: {
      workspace: { data: { type: 'workspaces', id: workspace.id } },
      team: { data: { type: 'teams', id: team.id } },
    },
  })
  const both = { 'policy-mocks': 'read', 'sentinel-mocks': 'read' }
  assert.partialDeepStrictEqual(access.attributes, both)
  const path = `/workspaces/${workspace.id}`
  const versions = { 'tool-version': '1.9.0', 'terraform-version': '1.9.0' }
  assert.partialDeepStrictEqual((await ask(path)).attributes, versions)
  assert.equal('terraform-version' in (await ask(path, undefined, 'curl')).attributes, false)
})

test('key documents: there are none, and the answer says why', async (t) => {
  const server = await open(t, true, true)
  for (const name of ['jwks.json', 'openid-configuration']) {
    const { status, text } = await server.send('GET', `/.well-known/${name}`)
    assert.equal(status, 404)
    assert.match(text, /^Reeve signs no workload identities/)
  }
})

const METRICS = '/v1/metrics?format=prometheus'

test('metrics: jobs and nodes under our names and under those of usual dashboards', async (t) => {
  const server = await open(t)
  const { run } = await withScheduler(server, 1)
  await run({ ID: 'web"1' })
  const { text } = await server.send('GET', METRICS)
  for (const line of [
    'service_job_allocations_starting{namespace="default",job="web\\"1",task_group="app"} 1',
    'nomad_nomad_job_summary_starting{namespace="default",job="web\\"1",task_group="app"} 1',
  ])
    assert.ok(text.includes(`${line}\n`), line)
  for (const name of ['service_node_allocated_memory', 'nomad_client_allocated_memory'])
    assert.match(text, new RegExp(`^${name}\\{node_id="[^"]+",node_name="node-1",.*\\} [1-9]`, 'm'))
  assert.match(text, /^nomad_client_allocations_pending\{.*\} 1$/m)
})

test('metrics: the samples of each metric follow its help and its type', async (t) => {
  const server = await open(t)
  const { run } = await withScheduler(server, 2)
  await run({ ID: 'one' })
  await run({ ID: 'two' })
  const { text } = await server.send('GET', METRICS)
  const groups = text.split(/^# HELP /m).slice(1)
  const names = groups.map((group) => group.split(' ', 1)[0])
  assert.equal(new Set(names).size, names.length)
  const running = groups.find((group) => group.startsWith('service_job_allocations_running '))
  const lines = running?.trim().split('\n') ?? []
  assert.match(lines[1] ?? '', /^# TYPE service_job_allocations_running gauge$/)
  const samples = lines.slice(2)
  assert.equal(samples.length, 2)
  assert.ok(samples.every((line) => line.startsWith('service_job_allocations_running{')))
})

test('metrics: names of jobs and nodes are for callers who may read them', async (t) => {
  const server = await open(t, true, true)
  const token = await managementToken(server)
  await putNode(server, { Name: 'node-1' })
  await server.ok('registerJob', { ...register({ ID: 'web' }), token })
  const anyone = (await server.send('GET', METRICS)).text
  assert.match(anyone, /^service_jobs 1$/m)
  assert.doesNotMatch(anyone, /job="|node_id="/)
  const Rules = 'namespace "other" { policy = "read" }\nnode { policy = "read" }'
  await server.send('PUT', '/v1/acl/policy/p', { token, body: { Name: 'p', Rules } })
  const { SecretID } = await server.ok('createAclToken', {
    token,
    body: { Name: 't', Type: 'client', Policies: ['p'] },
  })
  const some = (await server.send('GET', METRICS, { token: SecretID })).text
  assert.match(some, /node_id="/)
  assert.doesNotMatch(some, /job="/)
  assert.match((await server.send('GET', METRICS, { token })).text, /job="web"/)
})
