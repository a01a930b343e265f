import type { v2 } from '@reeve/contract'
import type { AttributeProblem, ProjectRow, WorkspaceRow } from '../../model/index.ts'
import { withAutoDestroyAt, withAutoDestroyDuration } from '../projects/auto-destroy.ts'

/** Attributes that create and update have in common. */
export type WorkspaceAttributes = NonNullable<v2.WorkspaceUpdateRequest['data']['attributes']>

/** A workspace after a request, with problems and notices. */
export interface ResolvedSettings {
  readonly workspace: WorkspaceRow
  readonly problems: readonly AttributeProblem[]
  /** Notices for users about side effects. */
  readonly notices: readonly string[]
}

/** Applies attributes to a workspace: omitted ones are unchanged, null clears. */
export function resolveSettings(
  before: WorkspaceRow,
  attributes: WorkspaceAttributes,
  project: ProjectRow,
): ResolvedSettings {
  const updated = withSimpleSettings(before, attributes)
  const { inherits, problems, notices } = resolveInheritance(before, attributes, project)
  const requestedDuration = attributes['auto-destroy-activity-duration']
  const ownDuration =
    requestedDuration === undefined ? before.autoDestroyActivityDuration : requestedDuration
  const workspace = withAutoDestroyDuration(
    { ...updated, inheritsProjectAutoDestroy: inherits },
    inherits ? project.autoDestroyActivityDuration : ownDuration,
  )
  const deadline = attributes['auto-destroy-at']
  return {
    // A deadline that is set directly is valid once, with or without a duration.
    workspace:
      deadline === undefined
        ? workspace
        : withAutoDestroyAt(workspace, deadline === null ? null : Date.parse(deadline)),
    problems: [...modeProblems(attributes), ...problems],
    notices,
  }
}

function withSimpleSettings(before: WorkspaceRow, attributes: WorkspaceAttributes): WorkspaceRow {
  const mode = attributes['execution-mode']
  // An explicit mode overrides that of the organization, unless the request says otherwise.
  const overwrites =
    attributes['setting-overwrites']?.['execution-mode'] ??
    (mode === undefined ? before.overwritesExecutionMode : true)
  return {
    ...before,
    name: attributes.name ?? before.name,
    description: nullIfEmpty(attributes.description, before.description),
    autoApply: attributes['auto-apply'] ?? before.autoApply,
    autoApplyRunTrigger:
      attributes['auto-apply-run-trigger'] ?? before.autoApplyRunTrigger ?? false,
    executionMode: mode ?? before.executionMode,
    overwritesExecutionMode: overwrites,
    workingDirectory: nullIfEmpty(attributes['working-directory'], before.workingDirectory),
    driftCheckInterval:
      attributes['drift-check-interval'] === undefined
        ? (before.driftCheckInterval ?? null)
        : attributes['drift-check-interval'],
    toolVersion: nullIfEmpty(attributes['tool-version'], before.toolVersion),
  }
}

/** `""` is stored as null, like null itself. */
function nullIfEmpty(requested: string | null | undefined, before: string | null): string | null {
  return requested === undefined ? before : requested || null
}

/** Agent pools are not supported, so none can be given. */
function modeProblems(attributes: WorkspaceAttributes): readonly AttributeProblem[] {
  if (attributes['execution-mode'] !== 'agent') return []
  return [
    {
      pointer: '/data/attributes/execution-mode',
      detail: "Agent pool must be specified when using 'agent' execution mode",
    },
  ]
}

/** While it inherits, a workspace has the duration of its project. */
function resolveInheritance(
  before: WorkspaceRow,
  attributes: WorkspaceAttributes,
  project: ProjectRow,
): Pick<ResolvedSettings, 'problems' | 'notices'> & { readonly inherits: boolean } {
  const requested = attributes['inherits-project-auto-destroy']
  const requestedDuration = attributes['auto-destroy-activity-duration']
  const inherits = requested ?? before.inheritsProjectAutoDestroy
  const projectDuration = project.autoDestroyActivityDuration
  if (!inherits || requestedDuration === undefined || requestedDuration === projectDuration)
    return { inherits, problems: [], notices: [] }
  // The project has no duration to inherit, so the value can only be an override.
  if (projectDuration === null && requested === undefined)
    return { inherits: false, problems: [], notices: [OVERRIDE_NOTICE] }
  return { inherits, problems: [DURATION_MISMATCH], notices: [] }
}

const OVERRIDE_NOTICE =
  'inherits-project-auto-destroy was set to false, because the project has no duration.'

const DURATION_MISMATCH: AttributeProblem = {
  pointer: '/data/attributes/auto-destroy-activity-duration',
  detail:
    'Auto destroy activity duration is inherited: the workspace auto destroy duration must match ' +
    'project auto destroy duration; set inherits-project-auto-destroy to false to override it',
}
