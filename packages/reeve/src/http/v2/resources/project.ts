import type { v2 } from '@reeve/contract'
import { projectPermissions, type VisibleProject } from '../../../governance/index.ts'
import type { Tables } from '../../../state/index.ts'
import { resourcePath, relatedLink, formatTime, toMany, toOne } from './links.ts'

export function projectResource(
  tables: Tables,
  visible: VisibleProject,
  effectiveTagIds?: readonly string[],
): v2.Project {
  const { project, rights } = visible
  return {
    id: project.id,
    type: 'projects',
    attributes: {
      ...commonAttributes(visible),
      'workspace-count': tables.workspaces.countByIndex('project', project.id),
      'team-count': tables.team_projects.countByIndex('project', project.id),
      permissions: projectPermissions(rights),
    },
    ...relationshipsAndLinks(visible, effectiveTagIds),
  }
}

/** Returns a project in the response of its creation: without counts, and with one permission. */
export function createdProjectResource(visible: VisibleProject): v2.CreatedProject {
  return {
    id: visible.project.id,
    type: 'projects',
    attributes: {
      ...commonAttributes(visible),
      permissions: { 'can-update': visible.rights.update },
    },
    ...relationshipsAndLinks(visible),
  }
}

function commonAttributes({ project }: VisibleProject) {
  return {
    name: project.name,
    description: project.description,
    'auto-destroy-activity-duration': project.autoDestroyActivityDuration,
    'created-at': formatTime(project.createdMs),
    'is-default': project.isDefault,
  }
}

function relationshipsAndLinks(
  { project, organization }: VisibleProject,
  effectiveTagIds?: readonly string[],
) {
  const { id } = project
  return {
    relationships: {
      organization: {
        ...toOne('organizations', organization.name),
        ...relatedLink('organizations', organization.name),
      },
      'tag-bindings': relatedLink('projects', id, 'tag-bindings'),
      'effective-tag-bindings': {
        ...relatedLink('projects', id, 'effective-tag-bindings'),
        ...(effectiveTagIds === undefined ? {} : toMany('effective-tag-bindings', effectiveTagIds)),
      },
    },
    links: { self: resourcePath('projects', id) },
  }
}
