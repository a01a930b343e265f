import assert from 'node:assert/strict'
import test from 'node:test'
import { createClient } from '@reeve/sdk'
import { EXIT_CODES } from '../../src/cli/index.ts'
import { aCommandLine } from '../build/cli.ts'

const SCALED = `job "web" {
  group "app" {
    count = 0
    task "wait" {
      driver = "raw_exec"
      config { command = "/bin/true" }
    }
  }
}
`
const PARAMETERIZED = SCALED.replace('"web" {', '"greet" {\n  type = "batch"\n  parameterized {}')

test('tokens that may scale or dispatch, and not list jobs, do so by the id', async (t) => {
  const bench = await aCommandLine(t, ['--acl'])
  const { data: root } = await bench.client.v1.bootstrapAcl({ body: {} })
  const client = createClient({ address: bench.address, token: root.SecretID })
  const as = async (name: string, rule: string) => {
    const Rules = `namespace "default" { ${rule} }`
    await client.v1.writeAclPolicy({ params: { policy_name: name }, body: { Name: name, Rules } })
    const { data } = await client.v1.createAclToken({ body: { Type: 'client', Policies: [name] } })
    return { environment: { REEVE_TOKEN: data.SecretID } }
  }
  const asRoot = { environment: { REEVE_TOKEN: root.SecretID } }
  for (const input of [SCALED, PARAMETERIZED])
    await bench.ok(['job', 'run', '--detach', '-'], { ...asRoot, input })

  const scaler = await as('scaler', 'policy = "scale"')
  const scaled = await bench.run('job scale --detach web app 0', scaler)
  assert.match(scaled.out, /^Group "app" of job "web" is scaled to 0\./)

  const dispatcher = await as('dispatcher', 'capabilities = ["dispatch-job"]')
  const dispatched = await bench.run('job dispatch --detach greet', dispatcher)
  assert.match(dispatched.out, /^Job "greet\/dispatch-.*" is dispatched\./)

  const unseen = await bench.run('job dispatch greet', dispatcher)
  assert.equal(unseen.code, EXIT_CODES.missing)
  assert.match(unseen.out, /^Job "greet\/dispatch-.*" is dispatched\.\n$/)
  assert.equal(
    unseen.err,
    'reeve job dispatch: Submitted, but the evaluation cannot be read: eval not found.\n' +
      'Watching requires namespace:read-job; --detach does not watch.\n',
  )

  // Who may neither list nor dispatch is told what dispatching takes.
  const refused = await bench.run('job dispatch --detach greet', scaler)
  assert.equal(refused.code, EXIT_CODES.denied)
  assert.match(refused.err, / lacks namespace:dispatch-job in /)
})
