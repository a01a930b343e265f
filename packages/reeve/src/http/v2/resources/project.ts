import type { v2 } from '@reeve/contract'
import { projectPermissions, type SeenProject } from '../../../governance/index.ts'
import type { Tables } from '../../../state/index.ts'
import { pathOf, related, timeText, toMany, toOne } from './links.ts'

export function projectResource(
  tables: Tables,
  seen: SeenProject,
  effectiveTagIds?: readonly string[],
): v2.Project {
  const { project, rights } = seen
  return {
    id: project.id,
    type: 'projects',
    attributes: {
      ...everywhere(seen),
      'workspace-count': tables.workspaces.countIn('project', project.id),
      'team-count': tables.team_projects.countIn('project', project.id),
      permissions: projectPermissions(rights),
    },
    ...members(seen, effectiveTagIds),
  }
}

/** The answer to create has no counts, and of the permissions only one. */
export function createdProjectResource(seen: SeenProject): v2.CreatedProject {
  return {
    id: seen.project.id,
    type: 'projects',
    attributes: { ...everywhere(seen), permissions: { 'can-update': seen.rights.update } },
    ...members(seen),
  }
}

function everywhere({ project }: SeenProject) {
  return {
    name: project.name,
    description: project.description,
    'auto-destroy-activity-duration': project.autoDestroyActivityDuration,
    'created-at': timeText(project.createdMs),
    'is-default': project.isDefault,
  }
}

function members({ project, organization }: SeenProject, effectiveTagIds?: readonly string[]) {
  const { id } = project
  return {
    relationships: {
      organization: {
        ...toOne('organizations', organization.name),
        ...related('organizations', organization.name),
      },
      'tag-bindings': related('projects', id, 'tag-bindings'),
      'effective-tag-bindings': {
        ...related('projects', id, 'effective-tag-bindings'),
        ...(effectiveTagIds === undefined ? {} : toMany('effective-tag-bindings', effectiveTagIds)),
      },
    },
    links: { self: pathOf('projects', id) },
  }
}
