// tidy-allow vendor: node attributes name the tool that executes runs
import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import type { Node, v2 } from '@reeve/contract'
import { HeartbeatMonitor } from '../../../src/control/index.ts'
import {
  EXECUTION_DEFAULTS,
  RunController,
  toolPathAttribute,
} from '../../../src/infrastructure/index.ts'
import type { AllocationRow, RunPhaseRow } from '../../../src/model/index.ts'
import { namespacedKey } from '../../../src/state/index.ts'
import { anId } from '../../build/index.ts'
import { putNode, withScheduler } from '../cluster.ts'
import type { Reply } from '../harness.ts'
import { aBody, type GovernanceServer } from './harness.ts'
import { aRunWorld, uploadedConfiguration, type RunWorld } from './run-world.ts'
import { newWorkspace } from './workspace-calls.ts'

const TOOL_VERSION = '1.11.4'

/** A server with its scheduler and the controller of runs; tests act as nodes and runners. */
export interface PhaseWorld {
  readonly it: GovernanceServer
  readonly workspaceId: string
  /** Creates a run, of this workspace unless another one is given. */
  queue(attributes?: object, workspaceId?: string): Promise<string>
  /** A further workspace with an uploaded configuration. */
  newWorkspace(name: string): Promise<string>
  node(number: number, fields?: Partial<Node>): Promise<void>
  /** The node of this number is silent for so long that it counts as down. */
  loseNode(number: number): Promise<void>
  /** Lets time pass, in which all nodes but this one send heartbeats. */
  pass(seconds: number, silentNode?: string): Promise<void>
  /** Waits until nothing is due any more. */
  settle(): Promise<void>
  /** Replaces the controller, as a start of another server does. */
  restart(): Promise<void>
  run(runId: string): Promise<v2.Run>
  workspace(): Promise<v2.Workspace>
  phase(runId: string, name: v2.RunPhaseName): RunPhaseRow
  allocations(runId: string, name: v2.RunPhaseName): readonly AllocationRow[]
  /** What clients read as the log. */
  log(runId: string, name: v2.RunPhaseName): Promise<string>
  /** Path of the log, without a query. */
  logPath(runId: string, name: v2.RunPhaseName): Promise<string>
  /** The runner of a phase, with the ticket of its job. */
  runner(runId: string, name: v2.RunPhaseName, token?: string): Promise<Runner>
  /** Plans with changes, confirms, and starts the apply. */
  applying(attributes?: object): Promise<{ readonly runId: string; readonly runner: Runner }>
  /** What the node says about the allocation of a phase. */
  report(runId: string, name: v2.RunPhaseName, status: AllocationRow['ClientStatus']): Promise<void>
  close(): Promise<void>
}

/** A runner as the server sees it: its requests. */
export interface Runner {
  send(method: string, path: string, body?: Buffer): Promise<Reply>
  start(): Promise<Reply>
  log(text: string): Promise<void>
  state(serial: number, names: readonly string[]): Promise<Reply>
  finish(
    end: Partial<v2.PhaseFinishRequest> & Pick<v2.PhaseFinishRequest, 'outcome'>,
  ): Promise<void>
}

export async function aPhaseWorld(): Promise<PhaseWorld> {
  const runs = await aRunWorld()
  const { it } = runs
  const { server } = it
  const { context } = server
  const { tables } = context.store
  const scheduled = await withScheduler(server, 0)
  const { id: workspaceId } = await newWorkspace(it, 'app')
  await uploadedConfiguration(it, workspaceId, { 'auto-queue-runs': false })
  const presence = new HeartbeatMonitor({ ...context, log: QUIET })
  presence.start()
  let controller = newController(it)
  controller.start()
  const world: PhaseWorld = {
    it,
    workspaceId,
    async newWorkspace(name) {
      const { id } = await newWorkspace(it, name)
      await uploadedConfiguration(it, id, { 'auto-queue-runs': false })
      return id
    },
    async queue(attributes = {}, id = workspaceId) {
      const related = { workspace: { data: { type: 'workspaces', id } } }
      const configuration = await latestConfiguration(it, id)
      const relationships = { ...related, 'configuration-version': { data: configuration } }
      const body = aBody('runs', attributes, relationships)
      const { data } = await it.created('createRun', { body })
      await world.settle()
      return data.id
    },
    async node(number, fields = {}) {
      const Attributes = {
        'kernel.name': 'linux',
        'os.signals': 'SIGINT',
        [toolPathAttribute('terraform', TOOL_VERSION)]: '/usr/bin/terraform',
      }
      const names = { ID: anId('node', number), Name: `node-${number}` }
      const { ID } = await putNode(server, { Attributes, ...names, ...fields })
      presence.recordHeartbeat(ID)
      await world.settle()
    },
    async loseNode(number) {
      const lost = anId('node', number)
      await world.pass(SILENT_SECONDS, lost)
      assert.equal(tables.nodes.get(lost).Status, 'down')
    },
    async pass(seconds, silentNode) {
      for (let passed = 0; passed < seconds; passed++) {
        for (const id of tables.nodes.keys()) if (id !== silentNode) presence.recordHeartbeat(id)
        server.clock.advance(1_000)
        await setImmediate()
      }
      await world.settle()
    },
    async settle() {
      for (let turn = 0; turn < 4; turn++) {
        await controller.runOnce()
        await scheduled.settle()
      }
    },
    async restart() {
      await controller.stop()
      controller = newController(it)
      controller.start()
      await world.settle()
    },
    run: async (runId) => (await it.ok('readRun', { params: { run_id: runId } })).data,
    workspace: async () =>
      (await it.ok('readWorkspace', { params: { workspace_id: workspaceId } })).data,
    phase: (runId, name) => tables.run_phases.get(`${runId}-${name}`),
    allocations(runId, name) {
      const { namespace, id } = world.phase(runId, name)
      return tables.allocations.rowsByIndex('job', namespacedKey(namespace, id))
    },
    async log(runId, name) {
      const path = await world.logPath(runId, name)
      return (await server.send('GET', `${path}?limit=65536&offset=0`)).text
    },
    async logPath(runId, name) {
      const { relationships } = await world.run(runId)
      const { id } = (name === 'plan' ? relationships.plan : relationships.apply).data ?? {}
      const { data } =
        name === 'plan'
          ? await it.ok('readPlan', { params: { plan_id: id ?? '' } })
          : await it.ok('readApply', { params: { apply_id: id ?? '' } })
      return new URL(data.attributes['log-read-url'] ?? '').pathname
    },
    async runner(runId, name, token = 'the-token-that-this-runner-chose-for-itself') {
      const phase = world.phase(runId, name)
      const path = `service/jobs/${phase.id}/${name}/runner`
      const { Items } = await server.ok('readVariable', {
        params: { path },
        query: { namespace: phase.namespace },
        token: it.root,
      })
      return newRunner(it, { phaseId: phase.id, ticket: Items['ticket'] ?? '', token })
    },
    async applying(attributes = { 'auto-apply': true }) {
      const runId = await world.queue(attributes)
      const planner = await world.runner(runId, 'plan')
      assert.equal((await planner.start()).status, 200)
      await finishPlan(planner)
      await world.settle()
      const runner = await world.runner(runId, 'apply')
      assert.equal((await runner.start()).status, 200)
      return { runId, runner }
    },
    async report(runId, name, status) {
      for (const row of world.allocations(runId, name)) await scheduled.report(row, status)
      await world.settle()
    },
    async close() {
      presence.stop()
      await controller.stop()
      await runs.close()
    },
  }
  return world
}

/** Longer than a server that has just started waits for its nodes. */
const SILENT_SECONDS = 90

const QUIET = { info: silent, warn: silent, error: silent }
function silent(): void {
  return undefined
}

function failOnLog(fields: object, message: string): never {
  assert.fail(`${message} ${JSON.stringify(fields)}`)
}

function newController({ server }: RunWorld['it']): RunController {
  return new RunController({
    context: server.context,
    log: { warn: failOnLog, error: failOnLog },
    settings: { ...EXECUTION_DEFAULTS, driver: 'raw_exec' },
    address: () => 'https://reeve.example',
    authorities: '',
  })
}

async function latestConfiguration(it: GovernanceServer, workspaceId: string) {
  const { data } = await it.ok('listConfigurationVersions', {
    params: { workspace_id: workspaceId },
  })
  return { type: 'configuration-versions', id: data[0]?.id ?? '' }
}

interface RunnerParts {
  readonly phaseId: string
  readonly ticket: string
  readonly token: string
}

const LINEAGE = '2b0d3a9e-51a3-0d2c-8f52-0c3d5c6a7b8e'

function newRunner(it: GovernanceServer, { phaseId, ticket, token }: RunnerParts): Runner {
  let logBytes = 0
  const send: Runner['send'] = (method, path, body) =>
    it.server.send(method, `/api/v2/run-phases/${phaseId}${path}`, {
      ...(body === undefined ? {} : { body }),
      headers: { authorization: `Bearer ${token}`, 'content-type': typeOf(method) },
    })
  return {
    send,
    start: () => send('POST', '/start', Buffer.from(JSON.stringify({ ticket, token }))),
    async log(text) {
      const reply = await send('PUT', `/log?offset=${logBytes}`, Buffer.from(text))
      assert.equal(reply.status, 204, reply.text)
      logBytes += Buffer.byteLength(text)
    },
    state: (serial, names) => send('PUT', '/state', stateFile(serial, names)),
    async finish(end) {
      const body = { message: null, logBytes, ...end }
      const reply = await send('POST', '/finish', Buffer.from(JSON.stringify(body)))
      assert.equal(reply.status, 204, reply.text)
    },
  }
}

function typeOf(method: string): string {
  return method === 'POST' ? 'application/json' : 'application/octet-stream'
}

/** A state with these resources. */
export function stateFile(serial: number, names: readonly string[]): Buffer {
  const provider = 'provider["example.com/builtin/data"]'
  const resources = names.map((name) => ({
    mode: 'managed',
    type: 'data_item',
    name,
    provider,
    instances: [{ schema_version: 0, attributes: { id: name } }],
  }))
  const state = { version: 4, terraform_version: TOOL_VERSION, serial, lineage: LINEAGE }
  return Buffer.from(JSON.stringify({ ...state, outputs: {}, resources }))
}

/** A plan that creates one resource. */
const PLAN = {
  format_version: '1.2',
  resource_changes: [
    {
      address: 'data_item.a',
      mode: 'managed',
      type: 'data_item',
      name: 'a',
      provider_name: 'example.com/builtin/data',
      change: { actions: ['create'], before: null, after: { id: 'a' }, after_unknown: {} },
    },
  ],
}

export async function finishPlan(runner: Runner): Promise<void> {
  await runner.log('planned\n')
  for (const [name, text] of [
    ['plan', 'the plan'],
    ['plan-json', JSON.stringify(PLAN)],
  ]) {
    const reply = await runner.send('PUT', `/files/${name}`, Buffer.from(text ?? ''))
    assert.equal(reply.status, 204, reply.text)
  }
  await runner.finish({ outcome: 'finished' })
}
