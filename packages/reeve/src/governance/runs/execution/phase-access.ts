import { type v2, WORKLOAD_VARIABLE_PREFIX } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  NOT_FOUND,
  type GovernanceRefusal,
  type RunPhaseRow,
  type RunRow,
  type WorkspaceRow,
} from '../../../model/index.ts'
import {
  type Change,
  isOpenPhase,
  namespacedKey,
  put,
  remove,
  type Tables,
} from '../../../state/index.ts'
import type { GovernanceCaller } from '../../caller.ts'
import { commitSystemWrite } from '../../commit.ts'
import type { GovernanceContext } from '../../context.ts'
import { commitNewState, decideWrite, newStateRow } from '../../state-versions/create-state.ts'
import {
  currentState,
  readStatePart,
  deleteStateBlobsChanges,
  stateVersionsOf,
} from '../../state-versions/state-versions.ts'
import { storeState } from '../../state-versions/store-state.ts'
import {
  firstByKey,
  variableLayers,
  type EffectiveVariable,
} from '../../variables/effective-variables.ts'
import { transitionRun } from '../run-status.ts'
import { isLockedByRun, withStatus } from '../run-changes.ts'

/** An active phase and its run, as visible to its runner. */
export interface VisiblePhase {
  readonly phase: RunPhaseRow
  readonly run: RunRow
}

/** A request of a runner. */
export interface PhaseCall {
  readonly phaseId: string
  /** Bearer token of the request; undefined if it has none. */
  readonly token: string | undefined
}

/**
 * Returns the phase if the request comes from its runner. All other callers, and the runner of an
 * ended phase, get the same response as for an unknown phase.
 */
export function findPhase(
  { store, sealer }: GovernanceContext,
  { phaseId, token }: PhaseCall,
): Result<VisiblePhase, GovernanceRefusal> {
  const phase = store.tables.run_phases.find(phaseId)
  if (phase === undefined || !isOpenPhase(phase) || token === undefined) return err(NOT_FOUND)
  if (phase.tokenHash === null || phase.tokenHash !== sealer.hash(token)) return err(NOT_FOUND)
  const run = store.tables.runs.find(phase.runId)
  return run === undefined ? err(NOT_FOUND) : ok({ phase, run })
}

/**
 * Returns an apply that ended without the report of its runner, if the request comes from that
 * runner: its node was unreachable and has returned. It may only attach the state that it has.
 */
export function findAbandonedApply(
  { store, sealer }: GovernanceContext,
  { phaseId, token }: PhaseCall,
): Result<VisiblePhase, GovernanceRefusal> {
  const phase = store.tables.run_phases.find(phaseId)
  if (phase === undefined || token === undefined || phase.phase !== 'apply') return err(NOT_FOUND)
  const run = store.tables.runs.find(phase.runId)
  if (phase.tokenHash !== sealer.hash(token) || run?.execution?.keepsLock !== true)
    return err(NOT_FOUND)
  return ok({ phase, run })
}

/**
 * Starts a phase: the runner presents its ticket and chooses the token for all later requests. A
 * ticket is bound to the first token, so the runner may repeat the request, but the ticket is
 * useless to others.
 */
export async function startPhase(
  context: GovernanceContext,
  { phaseId, ticket, token }: { readonly phaseId: string } & v2.PhaseStart,
): Promise<Result<v2.PhaseDocument, GovernanceRefusal>> {
  const { store, sealer, clock } = context
  const phase = store.tables.run_phases.find(phaseId)
  if (phase === undefined || !isOpenPhase(phase)) return err(NOT_FOUND)
  if (phase.ticketHash !== sealer.hash(ticket)) return err(NOT_FOUND)
  const tokenHash = sealer.hash(token)
  const run = store.tables.runs.find(phase.runId)
  if (run === undefined) return err(NOT_FOUND)
  if (phase.tokenHash !== null && phase.tokenHash !== tokenHash) return err(TICKET_ALREADY_USED)
  if (phase.tokenHash === null) {
    const nowMs = clock.nowMs()
    const isPlan = phase.phase === 'plan'
    const plan = store.tables.run_plans.get(run.planId)
    const started = { ...phase, tokenHash, ...withStatus(phase, 'running', nowMs) }
    await commitSystemWrite(context, {
      changes: [
        put('run_phases', started),
        put('runs', transitionRun(run, [isPlan ? 'planning' : 'applying'], nowMs)),
        ...(isPlan ? [put('run_plans', { ...plan, ...withStatus(plan, 'running', nowMs) })] : []),
      ],
      emitsEvents: true,
    }).durable
  }
  return ok(phaseDocument(context, { phase, run }))
}

const TICKET_ALREADY_USED: GovernanceRefusal = {
  code: 'conflict',
  detail: 'The ticket of the phase was used with another token',
}

/** Returns everything that the runner needs. Only the runner receives the values of variables. */
function phaseDocument(
  context: Pick<GovernanceContext, 'store' | 'sealer'>,
  { phase, run }: { readonly phase: RunPhaseRow; readonly run: RunRow },
): v2.PhaseDocument {
  const { tables } = context.store
  const workspace = tables.workspaces.get(run.workspaceId)
  return {
    phase: phase.phase,
    runId: run.id,
    organization: tables.organizations.get(run.organizationId).name,
    project: tables.projects.get(workspace.projectId).name,
    workspace: workspace.name,
    workingDirectory: workspace.workingDirectory,
    structuredOutput: run.execution?.structuredLog ?? true,
    isDestroy: run.isDestroy,
    refresh: run.refresh,
    refreshOnly: run.refreshOnly,
    allowConfigGeneration: run.execution?.allowConfigGeneration ?? false,
    host: configurationHost(tables, run),
    targets: run.targetAddresses,
    replacements: run.replaceAddresses,
    variables: effectiveValues(context, run, workspace),
  }
}

/** Returns the host by which the client that uploaded the configuration knows this server. */
function configurationHost({ configuration_versions: versions }: Tables, run: RunRow) {
  const id = run.configurationVersionId
  return (id === undefined ? undefined : versions.find(id)?.host) ?? null
}

/** Returns the variables of a run; for equal keys the value with the highest precedence. */
function effectiveValues(
  context: Pick<GovernanceContext, 'store' | 'sealer'>,
  run: RunRow,
  workspace: WorkspaceRow,
): readonly v2.PhaseVariable[] {
  const { priority, others } = variableLayers(context.store.tables, workspace)
  const toPhaseVariable = ({ variable: row }: EffectiveVariable): v2.PhaseVariable => ({
    key: row.key,
    value: row.sensitive ? context.sealer.open(row.value) : row.value,
    category: row.category === 'env' ? 'env' : 'input',
    hcl: row.hcl,
    sensitive: row.sensitive,
  })
  const all = [
    ...priority.map(toPhaseVariable),
    ...runVariables(context, run),
    ...others.map(toPhaseVariable),
  ]
  return firstByKey(all, (variable) => variable)
}

/** Values given with a run are expressions of the configuration language. */
function runVariables(
  { sealer }: Pick<GovernanceContext, 'sealer'>,
  { execution }: RunRow,
): readonly v2.PhaseVariable[] {
  if (execution === undefined || execution.variables === null) return []
  // `resolveExecution` encrypted variables of this form.
  const parsed = JSON.parse(sealer.open(execution.variables)) as readonly RunVariable[]
  return parsed.map(({ key, value }) => ({
    key,
    value,
    category: 'input',
    hcl: true,
    sensitive: false,
  }))
}

interface RunVariable {
  readonly key: string
  readonly value: string
}

/** Returns the initial state of a phase; undefined if the workspace has none. */
export async function readPhaseState(
  context: GovernanceContext,
  request: PhaseCall,
): Promise<Result<Uint8Array | undefined, GovernanceRefusal>> {
  const found = findPhase(context, request)
  if (!found.ok) return found
  const current = currentState(context.store.tables, found.value.run.workspaceId)
  return ok(current === undefined ? undefined : await readStatePart(context, current, 'state'))
}

/**
 * Stores the state after or during an apply. Only the run that holds the workspace may write it,
 * and never an older state than the current one: of two attempts, the abandoned one is rejected.
 */
export async function writePhaseState(
  context: GovernanceContext,
  request: PhaseCall & { readonly bytes: Uint8Array },
): Promise<Result<undefined, GovernanceRefusal>> {
  const found = findPhase(context, request)
  if (!found.ok) return found
  const { phase, run } = found.value
  if (phase.phase !== 'apply')
    return err({ code: 'conflict', detail: 'Only an apply writes the state of its workspace' })
  const inspected = await context.states.inspect(request.bytes, run.organizationId)
  if (!inspected.ok) return err({ code: 'unprocessable', detail: inspected.error })
  // The phase may have ended while a large state was read.
  const foundAgain = findPhase(context, request)
  if (!foundAgain.ok) return foundAgain
  const { tables } = context.store
  const workspace = tables.workspaces.get(run.workspaceId)
  if (!isLockedByRun(workspace.lock, run.id))
    return err({ code: 'conflict', detail: 'The workspace is not locked by this run any more' })
  const { serial, lineage, md5 } = inspected.value
  const write = { serial, lineage, md5, force: false }
  const decision = decideWrite(currentState(tables, workspace.id), write, { isRun: true })
  if (decision.kind === 'refuse') return err({ code: 'conflict', detail: decision.detail })
  if (decision.kind === 'repeat') return ok(undefined)
  const caller = callerOfRun(run)
  const created = newStateRow(context, caller, { visible: { workspace }, write, runId: run.id })
  const row = { ...created.row, intermediate: true }
  await commitNewState(context, caller, { row })
  const stored = await storeState(context, caller, { stateId: row.id, bytes: request.bytes })
  return stored.ok ? ok(undefined) : stored
}

/**
 * State versions of a run are attributed to its creator, although no request of theirs wrote them.
 */
function callerOfRun({ createdById }: RunRow): GovernanceCaller {
  return { kind: 'user', userId: createdById, isAdmin: false, tokenId: '', by: 'system' }
}

/** Deletes the intermediate states of an apply; only the last one is kept. */
export function finalizeIntermediateStatesChanges(
  tables: Tables,
  { id: runId, workspaceId }: RunRow,
): readonly Change[] {
  const intermediateStates = stateVersionsOf(tables, workspaceId, 'finalized').filter(
    (row) => row.runId === runId && row.intermediate,
  )
  return intermediateStates.flatMap((row, index) =>
    index === 0
      ? [put('state_versions', { ...row, intermediate: false })]
      : [...deleteStateBlobsChanges(tables, row), remove('state_versions', row.id)],
  )
}

/** Name of the only task in the job of a phase. */
export const RUNNER_TASK = 'runner'

/** Item of the variable that contains the ticket. */
export const TICKET_ITEM = 'ticket'

type PhaseJobRef = Pick<RunPhaseRow, 'id' | 'phase' | 'namespace'>

/**
 * Returns the path of the variable with the ticket of a phase. It belongs to the runner's task, so
 * only that task can read it; the job itself is visible to everyone who may read jobs of the
 * namespace.
 */
export function ticketPath({ id, phase }: PhaseJobRef): string {
  return `${WORKLOAD_VARIABLE_PREFIX}/${id}/${phase}/${RUNNER_TASK}`
}

/** Deletes the ticket of a phase that has ended. */
export function deleteTicketChanges(tables: Tables, phase: PhaseJobRef): readonly Change[] {
  const key = namespacedKey(phase.namespace, ticketPath(phase))
  return tables.variables.has(key) ? [remove('variables', key)] : []
}
