import { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { invalid, type GovernanceRefusal, type RunRow } from '../../../model/index.ts'
import type { GovernanceContext } from '../../context.ts'
import { newId } from '../../ids.ts'
import type { SeenWorkspace } from '../../workspaces/find-workspace.ts'
import { capacityOf } from './queue.ts'

type Attributes = NonNullable<v2.RunCreateRequest['data']['attributes']>

export interface ExecutionWish {
  readonly seen: SeenWorkspace
  readonly attributes: Attributes
  readonly configurationId: string
}

type ExecutedFields = Pick<RunRow, 'configurationVersionId' | 'execution' | 'planOnly' | 'source'>

/** What a run has more that is executed here; else why it cannot be. */
export function checkExecution(
  context: GovernanceContext,
  { seen, attributes, configurationId }: ExecutionWish,
): Result<ExecutedFields, GovernanceRefusal> {
  const { workspace, organization } = seen
  const configuration = context.store.tables.configuration_versions.find(configurationId)
  if (configuration === undefined || configuration.workspaceId !== workspace.id)
    return err(
      invalid(
        '/data/relationships/configuration-version',
        'Configuration version must be one of the workspace',
      ),
    )
  if (configuration.status !== 'uploaded') {
    const detail = `The configuration version is ${configuration.status}; a run needs an uploaded one`
    return err({ code: 'unprocessable', detail })
  }
  if (attributes['is-destroy'] === true && attributes['refresh-only'] === true)
    return err(
      invalid('/data/attributes/refresh-only', 'Refresh only cannot be combined with is-destroy'),
    )
  const { pending } = capacityOf(context.store.tables, organization.id)
  if (pending >= v2.RUNS_PENDING_MAX) {
    const detail = `${pending} runs of the organization wait already; cancel some first`
    return err({ code: 'unprocessable', detail })
  }
  return ok({
    configurationVersionId: configurationId,
    planOnly: attributes['plan-only'] === true || configuration.speculative,
    source: attributes.source ?? 'configuration-version',
    execution: {
      applyId: newId(context.ids, 'applies'),
      savePlan: attributes['save-plan'] ?? false,
      allowConfigGeneration: attributes['allow-config-generation'] ?? false,
      generatedConfiguration: false,
      variables: sealedVariables(context, attributes),
      canceledMs: null,
      reason: null,
      keepsLock: false,
    },
  })
}

function sealedVariables(
  { sealer }: Pick<GovernanceContext, 'sealer'>,
  { variables }: Attributes,
): string | null {
  const given = variables ?? []
  return given.length === 0 ? null : sealer.seal(JSON.stringify(given))
}
