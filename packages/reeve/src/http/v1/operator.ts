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
  possibleLevel,
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
  type ReadPlan,
  type Written,
  type WriteRequestOf,
} from './endpoint.ts'
import { operatorRead, operatorWrite } from './requirements.ts'
import { responseMeta } from './response-meta.ts'

const BODY_PROBLEM = 'Error parsing scheduler config: '
/** A number of at most 20 digits, as 64 bits hold. */
const WHOLE = /^\d{1,20}$/
const SHOWN_MAX = 64

type OperatorAgent = Pick<AgentInfo, 'acceptLoss' | 'member' | 'members'>

/** The settings of the scheduler, and decisions of an operator about the cluster. */
export function operatorEndpoints(
  context: WorkloadContext,
  agent: OperatorAgent,
): readonly Endpoint[] {
  const { store } = context
  return [
    write(v1Routes.acceptDatabaseLoss, operatorWrite, ({ caller }) =>
      acceptLoss(context, agent, caller),
    ),
    read(v1Routes.readClusterLevel, operatorRead, () => ok(readLevel(store, agent))),
    write(v1Routes.raiseClusterLevel, operatorWrite, ({ caller }) =>
      raiseLevel(store, agent, caller),
    ),
    read(v1Routes.readSchedulerConfiguration, operatorRead, () => ok(readConfiguration(store))),
    {
      ...write(v1Routes.writeSchedulerConfiguration, operatorWrite, (request) =>
        storeConfiguration(context, request),
      ),
      bodyProblem: BODY_PROBLEM,
    },
  ]
}

function readConfiguration({ tables }: Store): ReadPlan {
  return {
    index: () => tables.settings.lastIndex,
    watch: [{ table: 'settings' }],
    answer: () => {
      const SchedulerConfig = schedulerConfiguration(tables)
      const body: SchedulerConfigurationResponse = {
        SchedulerConfig,
        ...responseMeta(SchedulerConfig.ModifyIndex),
      }
      return ok(json(body))
    },
  }
}

/** Servers that have left do not come back with their version. */
function serversOf(agent: OperatorAgent): readonly ServerBuild[] {
  const staying = agent.members().filter(({ Status }) => Status !== 'left')
  return staying.map(({ Name, Tags }) => ({ name: Name, build: Tags['build'] ?? '' }))
}

function readLevel(store: Store, agent: OperatorAgent): ReadPlan {
  return {
    index: () => store.tables.settings.lastIndex,
    watch: [{ table: 'settings' }],
    answer: () => ok(json(levelBody(store, agent, store.tables.settings.lastIndex))),
  }
}

function levelBody(store: Store, agent: OperatorAgent, index: number): ClusterLevelResponse {
  return {
    Level: clusterLevel(store.tables),
    Possible: possibleLevel(store, serversOf(agent)),
    ...responseMeta(index),
  }
}

async function raiseLevel(
  store: Store,
  agent: OperatorAgent,
  caller: WriteRequestOf<typeof v1Routes.raiseClusterLevel>['caller'],
): Promise<Result<Written, Refusal>> {
  const build = agent.member().Tags['build'] ?? ''
  const raised = await raiseClusterLevel(store, caller, { build, servers: serversOf(agent) })
  if (!raised.ok) return raised
  const { index } = raised.value
  return ok({ index, answer: json(levelBody(store, agent, index)) })
}

const NO_DATABASE: Refusal = refusal(
  'invalid-input',
  'This server keeps its state in its data directory: there is no database that could lose commits.',
)

async function acceptLoss(
  { store }: WorkloadContext,
  agent: Pick<AgentInfo, 'acceptLoss'>,
  { accessorId }: Caller,
): Promise<Result<Written, Refusal>> {
  const accepted = await agent.acceptLoss?.(accessorId)
  if (accepted === undefined) return err(NO_DATABASE)
  const body: DatabaseLossResponse = {
    Accepted: accepted.map(({ fromIndex, toIndex }) => {
      return { FromIndex: fromIndex, ToIndex: toIndex, Commits: toIndex - fromIndex + 1 }
    }),
  }
  return ok({ index: store.durableIndex, answer: json(body) })
}

async function storeConfiguration(
  context: WorkloadContext,
  { caller, body, query }: WriteRequestOf<typeof v1Routes.writeSchedulerConfiguration>,
): Promise<Result<Written, Refusal>> {
  if (body === undefined) return invalid(`${BODY_PROBLEM}Request body is empty`)
  const cas = query.cas ?? ''
  if (cas !== '' && !WHOLE.test(cas))
    return invalid(
      `Error parsing cas value: strconv.ParseUint: parsing "${cas.slice(0, SHOWN_MAX)}": invalid syntax`,
    )
  const written = await writeSchedulerConfiguration(
    context,
    caller,
    body,
    cas === '' ? undefined : Number(cas),
  )
  if (!written.ok) return written
  const { updated, index } = written.value
  const answer: SchedulerConfigurationUpdate = { Updated: updated, Index: index }
  return ok({ index, answer: json(answer) })
}

function invalid(message: string): Result<never, Refusal> {
  return err(refusal('invalid-input', message))
}
