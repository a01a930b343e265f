import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aGuardedServer } from './guarded.ts'
import { aBody, type GovernanceServer } from './v2/harness.ts'
import { aRunWorld } from './v2/run-world.ts'

/** Of several lines, with quotes and marks that some JSON escapes; longer than what is shown. */
const KEY = `-----BEGIN KEY-----\n${'k3y<&>"quoted"'.repeat(300)}\n-----END KEY-----\n`
const SECRETS = {
  pem: KEY,
  tokens: JSON.stringify(['alpha-one', 'beta-two']),
  long: 'l0ng'.repeat(480),
  deep: JSON.stringify({ a: { pin: 31415926 } }),
}
const SECRET = /k3y|l0ng|quoted|alph|beta|31415926/

/** Each repeats what it was given, as it fails. */
function repeating(name: string): readonly string[] {
  return [
    `${name} is pem`,
    `pem is ${name}`,
    `${name} in tokens`,
    `deep.a.pin is ${name}`,
    `[tokens, deep, pem, tokens] is ${name}`,
    `json.marshal([pem, tokens]) is ${name}`,
    // Nothing is cut where a secret has only begun.
    `[long, "${'-'.repeat(64)}", tokens] is ${name}`,
  ].map(
    (condition) =>
      `import "json"\nparam pem\nparam tokens\nparam long\nparam deep\nmain = rule { ${condition} }\n`,
  )
}

async function addSecrets(it: GovernanceServer, setId: string): Promise<void> {
  for (const [key, value] of Object.entries(SECRETS))
    await it.created('createPolicySetParameter', {
      params: { policy_set_id: setId },
      body: aBody('vars', { key, value, sensitive: true, category: 'policy-set' }),
    })
}

test('jobs: no part and no spelling of a sensitive parameter is told', async () => {
  const { it, server, register, policy, set } = await aGuardedServer()
  const codes = repeating('job.name')
  const ids: string[] = []
  for (const code of codes) ids.push(await policy({ code }))
  await addSecrets(it, await set(ids))
  const [status, text] = await server.refusal('registerJob', register())
  assert.equal(status, 403)
  assert.match(text, / is denied by 7 policies:/)
  assert.doesNotMatch(text, SECRET)
  await server.close()
})

test('jobs: no part and no spelling of a variable is told', async () => {
  const { server, register, as, policy, set } = await aGuardedServer()
  const Items = { pem: KEY, pin: '31415926', other: 'alpha-one' }
  await server.ok('writeVariable', as({ params: { path: 'service/native/code' }, body: { Items } }))
  const head = 'import "service_var"\nv = service_var.get("service/native/code")\n'
  await set([
    await policy({ code: `${head}main = rule { v.pem is job.name }` }),
    await policy({ code: `${head}main = rule { v is job.name }` }),
  ])
  const [status, text] = await server.refusal('registerJob', register())
  assert.equal(status, 403)
  assert.match(text, / is denied by 2 policies:/)
  assert.doesNotMatch(text, SECRET)
  await server.close()
})

test('runs: sensitive parameters are hidden in what policies say', async () => {
  const world = await aRunWorld()
  const { it } = world
  const policies = repeating('plan.applyable').map((code, at) => ({
    name: `native-${at}`,
    code: `import "plan/v2" as plan\n${code}print(pem, tokens)\n`,
  }))
  await addSecrets(it, await world.set('native', { name: 'checked', policies }))
  const code = `package storage
deny contains data.parameters.pem
deny contains message if message := sprintf("%v", [data.parameters])
deny contains data.parameters.deep`
  const says = { name: 'says', level: 'advisory', code } as const
  await addSecrets(it, await world.set('opa', { name: 'evaluated', policies: [says] }))
  const run = await world.judged()
  const { attributes } = await world.check(run)
  assert.equal(attributes.result?.['soft-failed'], 7)
  assert.doesNotMatch(JSON.stringify(attributes), SECRET)
  const stage = { task_stage_id: (await world.stage(run)).id }
  const [evaluation] = (await it.ok('listPolicyEvaluations', { params: stage })).data
  const outcomes = await it.ok('listPolicySetOutcomes', {
    params: { policy_evaluation_id: evaluation?.id ?? '' },
  })
  assert.equal(outcomes.data[0]?.attributes.outcomes[0]?.findings.length, 3)
  assert.doesNotMatch(JSON.stringify(outcomes), SECRET)
  await world.close()
})
