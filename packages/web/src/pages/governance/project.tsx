import type { v2 } from '@reeve/contract'
import { resource, toMany } from '@reeve/sdk'
import { useState } from 'react'
import { projectCan } from '../../actions/governance-can.ts'
import { useAct } from '../../data/use-act.ts'
import { useRead } from '../../data/use-read.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { CommandLine } from '../../parts/command-line.tsx'
import { quoted } from '../../parts/curl-line.ts'
import { FormDialog, TextField } from '../../parts/form.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Picker } from '../../parts/picker.tsx'
import { QueryView } from '../../parts/query-view.tsx'
import { paths } from '../../paths.ts'
import type { PageProps } from '../../routing/route.ts'
import { DeleteButton } from './deletion.tsx'
import { findWorkspaces } from './find.ts'
import { crumbsOf, InOrganization, OfOrganization } from './in-organization.tsx'
import { NamespacesPanel } from './namespaces-panel.tsx'
import { ProjectAccessPanel } from './project-access.tsx'
import { WorkspaceList } from './tab-workspaces.tsx'
import { TagEditor, tagBindingsOf, type Tag } from './tag-editor.tsx'

/** A project: its workspaces, tags, teams and namespaces. */
export function ProjectPage({
  params,
  search,
}: PageProps<'/organizations/:organization/projects/:projectId'>) {
  return (
    <InOrganization name={params.organization}>
      {({ id }) => <LoadedProject {...params} organization={id} search={search} />}
    </InOrganization>
  )
}

interface LoadedProjectProps {
  readonly organization: string
  readonly projectId: string
  readonly search: URLSearchParams
}

function LoadedProject({ organization, projectId, search }: LoadedProjectProps) {
  const project = useRead(
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
          ...crumbsOf(organization),
          { text: 'Projects', href: paths.organization(organization, 'projects') },
        ],
      }}
    >
      {({ data }) => (
        <OfOrganization
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
            refusal={projectCan.createWorkspace(data)}
          />
          <MovePanel organization={organization} project={data} />
          <NamespacesPanel project={data} />
          <CommandLine
            cli={`reeve project show --organization ${quoted(organization)} ${quoted(data.attributes.name)}`}
            call={{ path: `/api/v2/projects/${data.id}` }}
          />
        </OfOrganization>
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
      <PageHead
        title={attributes.name}
        crumbs={[
          ...crumbsOf(organization),
          { text: 'Projects', href: paths.organization(organization, 'projects') },
        ]}
        aside={attributes['is-default'] ? <span className="tag">default project</span> : undefined}
        lead={attributes.description ?? undefined}
        actions={
          <>
            <ActionButton refusal={projectCan.update(project)} onAct={() => setEditing(true)}>
              Edit…
            </ActionButton>
            <DeleteButton
              what={`the project ${attributes.name}`}
              body={<p>Its tags and the access of teams to it go with it.</p>}
              refusal={projectCan.destroy(project)}
              call={(api) => api.v2.deleteProject({ params: { project_id: project.id } })}
              after={paths.organization(organization, 'projects')}
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
  const act = useAct()
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
    const done = await act({
      call: (api) =>
        api.v2.updateProject({
          params: { project_id: project.id },
          body: resource('projects', attributes),
        }),
      done: 'The project is saved.',
    })
    return done !== undefined
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
  const act = useAct()
  const params = { project_id: project.id }
  const tags = useRead(
    ['project-tags', project.id],
    (api, signal) => api.v2.listProjectTagBindings({ params, signal }),
    { watches: [{ topic: 'Project' }] },
  )
  const save = async (next: readonly Tag[], isWhole: boolean) => {
    const body = tagBindingsOf(next)
    const done = await act({
      call: async ({ v2 }) => {
        if (isWhole) await v2.replaceProjectTagBindings({ params, body })
        else await v2.updateProjectTagBindings({ params, body })
        return true
      },
      done: 'The tags are saved.',
    })
    return done !== undefined
  }
  return (
    <Panel title="Tags">
      <QueryView query={tags} what="the tags">
        {({ data }) => (
          <TagEditor
            organization={organization}
            tags={data.map(({ attributes }) => attributes)}
            refusal={projectCan.manageTags(project)}
            removal={projectCan.removeTags(project)}
            onSave={save}
          />
        )}
      </QueryView>
    </Panel>
  )
}

function MovePanel({ organization, project }: ProjectProps) {
  const act = useAct()
  return (
    <Panel title="Move a workspace here">
      <Picker
        label="Workspace"
        queryKey={['workspaces', organization]}
        find={(api, text, signal) => findWorkspaces({ api, organization, text, signal })}
        action="Move here"
        refusal={projectCan.moveWorkspaces(project)}
        onPick={async ({ id, text }) => {
          await act({
            call: (api) =>
              api.v2.moveWorkspaces({
                params: { project_id: project.id },
                body: toMany('workspaces', [id]),
              }),
            done: `${text} is in ${project.attributes.name} now.`,
          })
        }}
      />
    </Panel>
  )
}
