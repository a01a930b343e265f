import { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  invalidAttribute,
  type ConfigurationVersionRow,
  type GovernanceRefusal,
  type RunRow,
  type WorkspaceRow,
} from '../../../model/index.ts'
import type { GovernanceContext } from '../../context.ts'
import { newId } from '../../ids.ts'
import { queueCounts } from './queue.ts'

export type RunAttributes = NonNullable<v2.RunCreateRequest['data']['attributes']>

export interface ExecutionRequest {
  readonly workspace: WorkspaceRow
  readonly attributes: RunAttributes
  readonly configuration: ConfigurationVersionRow
  readonly trigger: v2.RunTriggerReason
  /** Whether the logs consist of JSON lines, for clients that render them. */
  readonly structuredLog?: boolean | undefined
  /** Runs of the organization that are queued in the same commit. */
  readonly queuedInCommit?: number
}

type ExecutionFields = Pick<RunRow, 'configurationVersionId' | 'execution' | 'planOnly' | 'source'>

/**
 * Returns the execution settings of a run that this service executes, or why it cannot be executed.
 */
export function resolveExecution(
  context: Pick<GovernanceContext, 'store' | 'sealer' | 'ids'>,
  {
    workspace,
    attributes,
    configuration,
    trigger,
    structuredLog,
    queuedInCommit = 0,
  }: ExecutionRequest,
): Result<ExecutionFields, GovernanceRefusal> {
  if (configuration.status !== 'uploaded') {
    const detail = `The configuration version is ${configuration.status}; a run needs an uploaded one`
    return err({ code: 'unprocessable', detail })
  }
  if (attributes['is-destroy'] === true && attributes['refresh-only'] === true)
    return err(
      invalidAttribute(
        '/data/attributes/refresh-only',
        'Refresh only cannot be combined with is-destroy',
      ),
    )
  const planOnly = attributes['plan-only'] === true || configuration.speculative
  const toolVersion = attributes['tool-version'] ?? undefined
  if (toolVersion !== undefined && !planOnly)
    return err(
      invalidAttribute(
        '/data/attributes/tool-version',
        'Tool version can only be given with plan-only: an apply uses that of the workspace',
      ),
    )
  const pending =
    queueCounts(context.store.tables, workspace.organizationId).pending + queuedInCommit
  if (pending >= v2.RUNS_PENDING_MAX) {
    const detail = `${pending} runs of the organization wait already; cancel some first`
    return err({ code: 'unprocessable', detail })
  }
  return ok({
    configurationVersionId: configuration.id,
    planOnly,
    source: attributes.source ?? 'configuration-version',
    execution: {
      applyId: newId(context.ids, 'applies'),
      savePlan: attributes['save-plan'] ?? false,
      trigger,
      structuredLog: structuredLog === true,
      ...(toolVersion === undefined ? {} : { toolVersion }),
      allowConfigGeneration: attributes['allow-config-generation'] ?? false,
      generatedConfiguration: false,
      variables: sealVariables(context, attributes),
      canceledMs: null,
      reason: null,
      keepsLock: false,
    },
  })
}

function sealVariables(
  { sealer }: Pick<GovernanceContext, 'sealer'>,
  { variables }: RunAttributes,
): string | null {
  const requested = variables ?? []
  return requested.length === 0 ? null : sealer.seal(JSON.stringify(requested))
}
