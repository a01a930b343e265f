import type { v2 } from '@reeve/contract'
import type { AttributeProblem, ProjectRow, WorkspaceRow } from '../../model/index.ts'
import { withDeadline, withDuration } from '../projects/auto-destroy.ts'

/** Attributes that create and update have in common. */
export type WorkspaceAttributes = NonNullable<v2.WorkspaceUpdateRequest['data']['attributes']>

/** A workspace after a request, with problems and notices. */
export interface PlannedSettings {
  readonly workspace: WorkspaceRow
  readonly problems: readonly AttributeProblem[]
  /** Notices for users about side effects. */
  readonly notices: readonly string[]
}

/** Applies attributes to a workspace: omitted ones are unchanged, null clears. */
export function planSettings(
  before: WorkspaceRow,
  attributes: WorkspaceAttributes,
  project: ProjectRow,
): PlannedSettings {
  const plain = withPlainSettings(before, attributes)
  const { inherits, problems, notices } = planInheritance(before, attributes, project)
  const given = attributes['auto-destroy-activity-duration']
  const own = given === undefined ? before.autoDestroyActivityDuration : given
  const workspace = withDuration(
    { ...plain, inheritsProjectAutoDestroy: inherits },
    inherits ? project.autoDestroyActivityDuration : own,
  )
  const at = attributes['auto-destroy-at']
  return {
    // A deadline that is set directly is valid once, with or without a duration.
    workspace:
      at === undefined ? workspace : withDeadline(workspace, at === null ? null : Date.parse(at)),
    problems: [...modeProblems(attributes), ...problems],
    notices,
  }
}

function withPlainSettings(before: WorkspaceRow, attributes: WorkspaceAttributes): WorkspaceRow {
  const mode = attributes['execution-mode']
  // An explicit mode overrides that of the organization, unless the request says otherwise.
  const overwrites =
    attributes['setting-overwrites']?.['execution-mode'] ??
    (mode === undefined ? before.overwritesExecutionMode : true)
  return {
    ...before,
    name: attributes.name ?? before.name,
    description: textOr(attributes.description, before.description),
    autoApply: attributes['auto-apply'] ?? before.autoApply,
    autoApplyRunTrigger:
      attributes['auto-apply-run-trigger'] ?? before.autoApplyRunTrigger ?? false,
    executionMode: mode ?? before.executionMode,
    overwritesExecutionMode: overwrites,
    workingDirectory: textOr(attributes['working-directory'], before.workingDirectory),
    driftCheckInterval:
      attributes['drift-check-interval'] === undefined
        ? (before.driftCheckInterval ?? null)
        : attributes['drift-check-interval'],
    toolVersion: textOr(attributes['tool-version'], before.toolVersion),
  }
}

/** `""` is stored as null, like null itself. */
function textOr(given: string | null | undefined, before: string | null): string | null {
  return given === undefined ? before : given || null
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
function planInheritance(
  before: WorkspaceRow,
  attributes: WorkspaceAttributes,
  project: ProjectRow,
): Pick<PlannedSettings, 'problems' | 'notices'> & { readonly inherits: boolean } {
  const asked = attributes['inherits-project-auto-destroy']
  const given = attributes['auto-destroy-activity-duration']
  const inherits = asked ?? before.inheritsProjectAutoDestroy
  const ofProject = project.autoDestroyActivityDuration
  if (!inherits || given === undefined || given === ofProject)
    return { inherits, problems: [], notices: [] }
  // The project has no duration to inherit, so the value can only be an override.
  if (ofProject === null && asked === undefined)
    return { inherits: false, problems: [], notices: [OVERRIDE_NOTICE] }
  return { inherits, problems: [MUST_MATCH], notices: [] }
}

const OVERRIDE_NOTICE =
  'inherits-project-auto-destroy was set to false, because the project has no duration.'

const MUST_MATCH: AttributeProblem = {
  pointer: '/data/attributes/auto-destroy-activity-duration',
  detail:
    'Auto destroy activity duration is inherited: the workspace auto destroy duration must match ' +
    'project auto destroy duration; set inherits-project-auto-destroy to false to override it',
}
