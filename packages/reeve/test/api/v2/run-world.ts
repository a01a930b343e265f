import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import type { v2 } from '@reeve/contract'
import { RunWorker } from '../../../src/governance/index.ts'
import { aTar } from '../../build/archive.ts'
import { aBody, aGovernanceServer, type Call, type GovernanceServer } from './harness.ts'

/** Made by a planning tool from two buckets, one of them open; names of the tool are neutral. */
export const BUCKETS = readFileSync(new URL('./plans/buckets.json', import.meta.url), 'utf8')

/** The secret in it. */
export const PASSWORD = 'hunter2-secret'

/** The same plan when both are encrypted. */
export const ENCRYPTED = BUCKETS.replaceAll('"encrypted": false', '"encrypted": true')

/** A plan that does nothing. */
export const NO_CHANGES = JSON.stringify({ format_version: '1.2', resource_changes: [] })

/** Both deny an unencrypted bucket. */
export const NATIVE_ENCRYPTED = `import "plan/v2" as plan
buckets = filter plan.resource_changes as _, rc { rc.type is "storage_bucket" }
main = rule {
  all buckets as _, bucket { bucket.change.after.input.encrypted is true }
}
`
export const OPA_ENCRYPTED = `package storage
deny contains message if {
  some change in input.plan.resource_changes
  not change.change.after.input.encrypted
  message := sprintf("%s is not encrypted", [change.address])
}
`

export interface PolicyWish {
  readonly name: string
  readonly kind?: v2.PolicyKind
  readonly level?: v2.EnforcementLevel
  readonly code: string
}

export interface SetWish {
  readonly name: string
  readonly attributes?: object
  readonly relationships?: object
  readonly policies?: readonly PolicyWish[]
}

/** An organization with one workspace, and the loop that asks policies about its runs. */
export interface RunWorld {
  readonly it: GovernanceServer
  readonly loop: RunWorker
  readonly workspaceId: string
  policy(wish: PolicyWish): Promise<string>
  /** A global set of one kind. */
  set(kind: v2.PolicyKind, wish: SetWish): Promise<string>
  newRun(attributes?: object, call?: Call): Promise<v2.Run>
  upload(run: v2.Run, plan: string | Buffer, call?: Call): ReturnType<GovernanceServer['call']>
  read(runId: string, query?: Call['query']): Promise<v2.RunDocument>
  /** A run whose policies have spoken. */
  judged(attributes?: object, plan?: string): Promise<v2.Run>
  check(run: v2.Run): Promise<v2.PolicyCheck>
  stage(run: v2.Run): Promise<v2.TaskStage>
  close(): Promise<void>
}

export async function aRunWorld(
  options: Parameters<typeof aGovernanceServer>[0] = {},
): Promise<RunWorld> {
  const it = await aGovernanceServer(options)
  await it.organization('acme')
  const params = { organization_name: 'acme' }
  const { data: workspace } = await it.created('createWorkspace', {
    params,
    body: aBody('workspaces', { name: 'net' }),
  })
  const loop = new RunWorker({
    context: it.server.context,
    log: { warn: (fields, message) => assert.fail(`${message} ${JSON.stringify(fields)}`) },
  })
  const world: RunWorld = {
    it,
    loop,
    workspaceId: workspace.id,
    async policy({ name, kind = 'native', level, code }) {
      const attributes = {
        name,
        kind,
        'enforcement-level': level ?? (kind === 'opa' ? 'mandatory' : 'soft-mandatory'),
        ...(kind === 'opa' ? { query: 'data.storage.deny' } : {}),
      }
      const { data } = await it.ok('createPolicy', { params, body: aBody('policies', attributes) })
      await it.ok('uploadPolicy', { params: { policy_id: data.id }, body: code })
      return data.id
    },
    async set(kind, { name, attributes, relationships, policies = [] }) {
      const ids: string[] = []
      for (const wish of policies) ids.push(await world.policy({ ...wish, kind }))
      const body = aBody(
        'policy-sets',
        { name, kind, global: true, ...attributes },
        { policies: { data: ids.map((id) => ({ type: 'policies', id })) }, ...relationships },
      )
      return (await it.created('createPolicySet', { params, body })).data.id
    },
    async newRun(attributes = {}, call = {}) {
      const related = { workspace: { data: { type: 'workspaces', id: workspace.id } } }
      const body = aBody('runs', attributes, related)
      return (await it.created('createRun', { body, ...call })).data
    },
    upload: (run, plan, call = {}) =>
      it.call('uploadPlan', {
        params: { plan_id: run.relationships.plan.data.id },
        body: plan,
        headers: { 'content-type': 'application/json' },
        ...call,
      }),
    read: (runId, query = {}) => it.ok('readRun', { params: { run_id: runId }, query }),
    async judged(attributes, plan = BUCKETS) {
      const run = await world.newRun(attributes)
      const reply = await world.upload(run, plan)
      assert.equal(reply.status, 202, reply.text)
      await loop.evaluatePending()
      return (await world.read(run.id)).data
    },
    async check({ id }) {
      const { data } = await it.ok('listPolicyChecks', { params: { run_id: id } })
      assert.ok(data[0] !== undefined, 'the run has a policy check')
      return data[0]
    },
    async stage({ id }) {
      const { data } = await it.ok('listTaskStages', { params: { run_id: id } })
      assert.ok(data[0] !== undefined, 'the run has a task stage')
      return data[0]
    },
    async close() {
      await loop.stop()
      await it.server.close()
    },
  }
  return world
}

/** A configuration version of a workspace whose archive was uploaded. */
export async function uploadedConfiguration(
  it: GovernanceServer,
  workspaceId: string,
  attributes: object = {},
  as?: string,
): Promise<v2.ConfigurationVersion> {
  const { data } = await it.created('createConfigurationVersion', {
    params: { workspace_id: workspaceId },
    body: aBody('configuration-versions', attributes),
    ...(as !== undefined && { as }),
  })
  const { pathname } = new URL(data.attributes['upload-url'] ?? '')
  const files = gzipSync(aTar([{ path: 'main.tf', text: 'output "a" { value = 1 }\n' }]))
  const headers = { 'content-type': 'application/octet-stream' }
  const reply = await it.server.send('PUT', pathname, { body: files, headers })
  assert.equal(reply.status, 200, reply.text)
  return data
}
