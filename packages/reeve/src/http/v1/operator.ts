import {
  v1Routes,
  type ClusterLevelResponse,
  type DatabaseLossResponse,
  type SchedulerConfigurationResponse,
  type SchedulerConfigurationUpdate,
} from '@reeve/contract'
import type { Caller } from '../../acl/index.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { refusal, type Refusal } from '../../model/index.ts'
import { clusterLevel, schedulerConfiguration, type Store } from '../../state/index.ts'
import {
  reachableLevel,
  raiseClusterLevel,
  writeSchedulerConfiguration,
  type ServerBuild,
  type WorkloadContext,
} from '../../workload/index.ts'
import { json } from '../answer.ts'
import type { AgentInfo } from './agent.ts'
import {
  read,
  write,
  type Endpoint,
  type WatchedRead,
  type WriteResult,
  type WriteRequestOf,
} from './endpoint.ts'
import { operatorRead, operatorWrite } from './requirements.ts'
import { responseMeta } from './response-meta.ts'

const BODY_ERROR_PREFIX = 'Error parsing scheduler config: '
/** An unsigned 64-bit number has at most 20 digits. */
const UNSIGNED = /^\d{1,20}$/
const QUOTED_CHARS_MAX = 64

type OperatorAgent = Pick<AgentInfo, 'acceptLoss' | 'member' | 'members'>

/** Returns the routes for scheduler settings and for decisions about the cluster. */
export function operatorEndpoints(
  context: WorkloadContext,
  agent: OperatorAgent,
): readonly Endpoint[] {
  const { store } = context
  return [
    write(v1Routes.acceptDatabaseLoss, operatorWrite, ({ caller }) =>
      acceptLoss(context, agent, caller),
    ),
    read(v1Routes.readClusterLevel, operatorRead, () => ok(readLevelPlan(store, agent))),
    write(v1Routes.raiseClusterLevel, operatorWrite, ({ caller }) =>
      raiseLevelRoute(store, agent, caller),
    ),
    read(v1Routes.readSchedulerConfiguration, operatorRead, () => ok(readConfiguration(store))),
    {
      ...write(v1Routes.writeSchedulerConfiguration, operatorWrite, (request) =>
        storeConfiguration(context, request),
      ),
      bodyErrorPrefix: BODY_ERROR_PREFIX,
    },
  ]
}

function readConfiguration({ tables }: Store): WatchedRead {
  return {
    index: () => tables.settings.lastIndex,
    watch: [{ table: 'settings' }],
    respond: () => {
      const SchedulerConfig = schedulerConfiguration(tables)
      const body: SchedulerConfigurationResponse = {
        SchedulerConfig,
        ...responseMeta(SchedulerConfig.ModifyIndex),
      }
      return ok(json(body))
    },
  }
}

/** Returns the builds of all servers except those that have left for good. */
function serverBuilds(agent: OperatorAgent): readonly ServerBuild[] {
  const remaining = agent.members().filter(({ Status }) => Status !== 'left')
  return remaining.map(({ Name, Tags }) => ({ name: Name, build: Tags['build'] ?? '' }))
}

function readLevelPlan(store: Store, agent: OperatorAgent): WatchedRead {
  return {
    index: () => store.tables.settings.lastIndex,
    watch: [{ table: 'settings' }],
    respond: () => ok(json(levelBody(store, agent, store.tables.settings.lastIndex))),
  }
}

function levelBody(store: Store, agent: OperatorAgent, index: number): ClusterLevelResponse {
  return {
    Level: clusterLevel(store.tables),
    Possible: reachableLevel(store, serverBuilds(agent)),
    ...responseMeta(index),
  }
}

async function raiseLevelRoute(
  store: Store,
  agent: OperatorAgent,
  caller: WriteRequestOf<typeof v1Routes.raiseClusterLevel>['caller'],
): Promise<Result<WriteResult, Refusal>> {
  const build = agent.member().Tags['build'] ?? ''
  const raised = await raiseClusterLevel(store, caller, { build, servers: serverBuilds(agent) })
  if (!raised.ok) return raised
  const { index } = raised.value
  return ok({ index, response: json(levelBody(store, agent, index)) })
}

const NO_DATABASE: Refusal = refusal(
  'invalid-input',
  'This server keeps its state in its data directory: there is no database that could lose commits.',
)

async function acceptLoss(
  { store }: WorkloadContext,
  agent: Pick<AgentInfo, 'acceptLoss'>,
  { accessorId }: Caller,
): Promise<Result<WriteResult, Refusal>> {
  const accepted = await agent.acceptLoss?.(accessorId)
  if (accepted === undefined) return err(NO_DATABASE)
  const body: DatabaseLossResponse = {
    Accepted: accepted.map(({ fromIndex, toIndex }) => {
      return { FromIndex: fromIndex, ToIndex: toIndex, Commits: toIndex - fromIndex + 1 }
    }),
  }
  return ok({ index: store.durableIndex, response: json(body) })
}

async function storeConfiguration(
  context: WorkloadContext,
  { caller, body, query }: WriteRequestOf<typeof v1Routes.writeSchedulerConfiguration>,
): Promise<Result<WriteResult, Refusal>> {
  if (body === undefined) return invalid(`${BODY_ERROR_PREFIX}Request body is empty`)
  const cas = query.cas ?? ''
  if (cas !== '' && !UNSIGNED.test(cas))
    return invalid(
      `Error parsing cas value: strconv.ParseUint: parsing "${cas.slice(0, QUOTED_CHARS_MAX)}": invalid syntax`,
    )
  const written = await writeSchedulerConfiguration(
    context,
    caller,
    body,
    cas === '' ? undefined : Number(cas),
  )
  if (!written.ok) return written
  const { updated, index } = written.value
  const responseBody: SchedulerConfigurationUpdate = { Updated: updated, Index: index }
  return ok({ index, response: json(responseBody) })
}

function invalid(message: string): Result<never, Refusal> {
  return err(refusal('invalid-input', message))
}
