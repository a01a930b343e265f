import { v2 } from '@reeve/contract'
import { resource, toMany, toOne } from '@reeve/sdk'
import { useState } from 'react'
import { projectDisabledReason } from '../../permissions/governance.ts'
import { useApiAction } from '../../data/api-action.ts'
import { useApiQuery } from '../../data/api-query.ts'
import { ActionButton, DeleteButton } from '../../components/action-button.tsx'
import { CliAndApiPanel } from '../../components/command-line.tsx'
import { quoteShellArg } from '../../commands.ts'
import { FormDialog, TextField } from '../../components/form.tsx'
import { PermissionNotice } from '../../components/notices.tsx'
import { PageHeader, Panel } from '../../components/page.tsx'
import { Picker } from '../../components/picker.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { paths } from '../../paths.ts'
import type { PageProps } from '../../routing/route.ts'
import { findNamespaces, findWorkspaces, MemberPanel } from './member-panel.tsx'
import {
  organizationCrumbs,
  OrganizationPageFrame,
  OrganizationGuard,
  useAttachNamespaceDisabledReason,
} from './in-organization.tsx'
import { WorkspaceList } from './tab-workspaces.tsx'
import { TagEditor, tagBindingsOf, type Tag } from './tag-editor.tsx'
import { CustomPermissionFields, TeamAccessPanel } from './team-access.tsx'

/** A project: its workspaces, tags, teams and namespaces. */
export function ProjectPage({
  params,
  search,
}: PageProps<'/organizations/:organization/projects/:projectId'>) {
  return (
    <OrganizationPageFrame name={params.organization}>
      {({ id }) => <LoadedProject {...params} organization={id} search={search} />}
    </OrganizationPageFrame>
  )
}

interface LoadedProjectProps {
  readonly organization: string
  readonly projectId: string
  readonly search: URLSearchParams
}

function LoadedProject({ organization, projectId, search }: LoadedProjectProps) {
  const project = useApiQuery(
    ['project', projectId],
    (api, signal) => api.v2.readProject({ params: { project_id: projectId }, signal }),
    { watches: [{ topic: 'Project' }, { topic: 'Workspace' }] },
  )
  return (
    <QueryView
      query={project}
      what="the project"
      page={{
        title: 'Project',
        crumbs: [
          ...organizationCrumbs(organization),
          { text: 'Projects', href: paths.organization(organization, 'projects') },
        ],
      }}
    >
      {({ data }) => (
        <OrganizationGuard
          name={organization}
          owner={data.relationships.organization.data.id}
          hrefIn={(name) => paths.project(name, data.id)}
        >
          <ProjectHead organization={organization} project={data} />
          <div className="columns">
            <TagsPanel organization={organization} project={data} />
            <ProjectAccessPanel organization={organization} project={data} />
          </div>
          <h2 className="part">Workspaces</h2>
          <WorkspaceList
            organization={organization}
            project={data.id}
            search={search}
            disabledReason={projectDisabledReason.createWorkspace(data)}
          />
          <MovePanel organization={organization} project={data} />
          <NamespacesPanel project={data} />
          <CliAndApiPanel
            cli={`reeve project show --organization ${quoteShellArg(organization)} ${quoteShellArg(data.attributes.name)}`}
            call={{ path: `/api/v2/projects/${data.id}` }}
          />
        </OrganizationGuard>
      )}
    </QueryView>
  )
}

interface ProjectProps {
  readonly organization: string
  readonly project: v2.Project
}

function ProjectHead({ organization, project }: ProjectProps) {
  const [isEditing, setEditing] = useState(false)
  const { attributes } = project
  return (
    <>
      <PageHeader
        title={attributes.name}
        crumbs={[
          ...organizationCrumbs(organization),
          { text: 'Projects', href: paths.organization(organization, 'projects') },
        ]}
        aside={attributes['is-default'] ? <span className="tag">default project</span> : undefined}
        lead={attributes.description ?? undefined}
        actions={
          <>
            <ActionButton
              disabledReason={projectDisabledReason.update(project)}
              onAction={() => setEditing(true)}
            >
              Edit…
            </ActionButton>
            <DeleteButton
              what={`the project ${attributes.name}`}
              body={<p>Its tags and team access are deleted too.</p>}
              disabledReason={projectDisabledReason.destroy(project)}
              call={(api) => api.v2.deleteProject({ params: { project_id: project.id } })}
              returnTo={paths.organization(organization, 'projects')}
            />
          </>
        }
      />
      {isEditing && <EditProject project={project} onClose={() => setEditing(false)} />}
    </>
  )
}

interface EditProjectProps {
  readonly project: v2.Project
  readonly onClose: () => void
}

function EditProject({ project, onClose }: EditProjectProps) {
  const callApi = useApiAction()
  const [name, setName] = useState(project.attributes.name)
  const [description, setDescription] = useState(project.attributes.description ?? '')
  const [duration, setDuration] = useState(
    project.attributes['auto-destroy-activity-duration'] ?? '',
  )
  const save = async () => {
    const attributes = {
      name,
      description,
      'auto-destroy-activity-duration': duration === '' ? null : duration,
    }
    const result = await callApi({
      call: (api) =>
        api.v2.updateProject({
          params: { project_id: project.id },
          body: resource('projects', attributes),
        }),
      successMessage: 'The project is saved.',
    })
    return result !== undefined
  }
  return (
    <FormDialog title="Edit the project" action="Save" onSubmit={save} onClose={onClose}>
      <TextField label="Name" attribute="name" value={name} onChange={setName} />
      <TextField
        label="Description"
        attribute="description"
        isOptional
        value={description}
        onChange={setDescription}
      />
      <TextField
        label="Destroy workspaces after no activity for"
        attribute="auto-destroy-activity-duration"
        isOptional
        value={duration}
        onChange={setDuration}
        hint="Days or hours: 14d, 24h."
      />
    </FormDialog>
  )
}

function TagsPanel({ organization, project }: ProjectProps) {
  const callApi = useApiAction()
  const params = { project_id: project.id }
  const tags = useApiQuery(
    ['project-tags', project.id],
    (api, signal) => api.v2.listProjectTagBindings({ params, signal }),
    { watches: [{ topic: 'Project' }] },
  )
  const save = async (next: readonly Tag[], replace: boolean) => {
    const body = tagBindingsOf(next)
    const result = await callApi({
      call: async (api) => {
        if (replace) await api.v2.replaceProjectTagBindings({ params, body })
        else await api.v2.updateProjectTagBindings({ params, body })
        return true
      },
      successMessage: 'The tags are saved.',
    })
    return result !== undefined
  }
  return (
    <Panel title="Tags">
      <QueryView query={tags} what="the tags">
        {({ data }) => (
          <TagEditor
            organization={organization}
            tags={data.map(({ attributes }) => attributes)}
            disabledReason={projectDisabledReason.manageTags(project)}
            removeDisabledReason={projectDisabledReason.removeTags(project)}
            onSave={save}
          />
        )}
      </QueryView>
    </Panel>
  )
}

function MovePanel({ organization, project }: ProjectProps) {
  const callApi = useApiAction()
  return (
    <Panel title="Move a workspace here">
      <Picker
        label="Workspace"
        queryKey={['workspaces', organization]}
        find={(api, text, signal) => findWorkspaces({ api, organization, text, signal })}
        action="Move here"
        disabledReason={projectDisabledReason.moveWorkspaces(project)}
        onPick={async ({ id, text }) => {
          await callApi({
            call: (api) =>
              api.v2.moveWorkspaces({
                params: { project_id: project.id },
                body: toMany('workspaces', [id]),
              }),
            successMessage: `${text} is moved to ${project.attributes.name}.`,
          })
        }}
      />
    </Panel>
  )
}

interface ProjectAccessProps {
  readonly organization: string
  readonly project: v2.Project
}

/** The named access levels; `custom` is set permission by permission. */
const LEVELS = v2.PROJECT_ACCESS_LEVELS.filter((level) => level !== 'custom')

/** The teams with access to the project, or why the caller cannot read them. */
function ProjectAccessPanel(props: ProjectAccessProps) {
  const disabledReason = projectDisabledReason.readTeams(props.project)
  if (disabledReason === undefined) return <AccessList {...props} />
  return (
    <Panel title="Teams with access">
      <PermissionNotice reason={disabledReason} />
    </Panel>
  )
}

function AccessList({ organization, project }: ProjectAccessProps) {
  const accesses = useApiQuery(['team-projects', project.id], (api, signal) =>
    api.v2.listTeamProjectAccesses({
      query: { 'filter[project][id]': project.id, 'page[size]': 100 },
      signal,
    }),
  )
  return (
    <TeamAccessPanel<v2.ProjectAccessLevel, v2.TeamProjectAccess>
      organization={organization}
      accesses={accesses}
      emptyText="Only teams with organization-wide permissions."
      levels={LEVELS}
      defaultLevel="read"
      disabledReason={projectDisabledReason.manageTeams(project)}
      calls={{
        grant: (api, team, access) => {
          const to = { team: toOne('teams', team), project: toOne('projects', project.id) }
          const body = resource('team-projects', { access }, to)
          return api.v2.createTeamProjectAccess({ body })
        },
        change: (api, { id }, access) =>
          api.v2.updateTeamProjectAccess({
            params: { team_project_id: id },
            body: resource('team-projects', { access }),
          }),
        revoke: (api, { id }) =>
          api.v2.deleteTeamProjectAccess({ params: { team_project_id: id } }),
      }}
      renderCustomForm={(access, onClose) => <CustomAccess access={access} onClose={onClose} />}
    />
  )
}

interface CustomAccessProps {
  readonly access: v2.TeamProjectAccess
  readonly onClose: () => void
}

function CustomAccess({ access, onClose }: CustomAccessProps) {
  const callApi = useApiAction()
  const [project, setProject] = useState(access.attributes['project-access'])
  const [workspaces, setWorkspaces] = useState(access.attributes['workspace-access'])
  const save = async () => {
    const attributes = {
      access: 'custom',
      'project-access': project,
      'workspace-access': workspaces,
    } as const
    const result = await callApi({
      call: (api) =>
        api.v2.updateTeamProjectAccess({
          params: { team_project_id: access.id },
          body: resource('team-projects', attributes),
        }),
      successMessage: 'The permissions are saved.',
    })
    return result !== undefined
  }
  return (
    <FormDialog title="Permissions of the team" action="Save" onSubmit={save} onClose={onClose}>
      <CustomPermissionFields title="In the project" values={project} onChange={setProject} />
      <CustomPermissionFields
        title="In its workspaces"
        values={workspaces}
        onChange={setWorkspaces}
      />
    </FormDialog>
  )
}

/** Namespaces whose jobs the policy sets of the project evaluate. */
function NamespacesPanel({ project }: { readonly project: v2.Project }) {
  const callApi = useApiAction()
  const addDisabledReason = useAttachNamespaceDisabledReason()
  const params = { project_id: project.id }
  const namespaces = useApiQuery(['project-namespaces', project.id], (api, signal) =>
    api.v2.listProjectNamespaces({ params, signal }),
  )
  return (
    <QueryView query={namespaces} what="the namespaces">
      {({ data }) => (
        <MemberPanel
          title="Namespaces"
          label="Namespace"
          members={data.map(({ id }) => ({
            id,
            text: id,
            href: paths.jobs({ namespace: id }),
          }))}
          emptyText="No namespaces. The policy sets of this project evaluate the jobs of namespaces added here."
          disabledReason={projectDisabledReason.update(project)}
          addDisabledReason={addDisabledReason}
          queryKey={['namespaces']}
          find={(api, _text, signal) => findNamespaces(api, signal)}
          onAdd={async ({ id }) => {
            await callApi({
              call: (api) =>
                api.v2.addProjectNamespaces({ params, body: toMany('namespaces', [id]) }),
              successMessage: `The policy sets of the project evaluate the jobs of ${id}.`,
            })
          }}
          onRemove={async ({ id }) => {
            await callApi({
              call: (api) =>
                api.v2.removeProjectNamespaces({ params, body: toMany('namespaces', [id]) }),
              successMessage: `${id} is removed from the project.`,
            })
          }}
        />
      )}
    </QueryView>
  )
}
