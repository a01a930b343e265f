import type { v2 } from '@reeve/contract'
import { resource } from '@reeve/sdk'
import { useState } from 'react'
import { workspaceCan } from '../../actions/governance-can.ts'
import { useAct } from '../../data/use-act.ts'
import { useRead } from '../../data/use-read.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { CheckField, TextField } from '../../parts/form.tsx'
import { Panel } from '../../parts/panel.tsx'
import { QueryView } from '../../parts/query-view.tsx'
import { paths } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import { navigate } from '../../routing/location.ts'
import { DeleteButton } from './deletion.tsx'
import { TagEditor, tagBindingsOf, type Tag } from './tag-editor.tsx'
import type { WorkspaceView } from './workspace-runs.tsx'

/** Own tags, and those of the project that are not hidden by own ones. */
export function WorkspaceTagsTab({ organization, workspace }: WorkspaceView) {
  const act = useAct()
  const params = { workspace_id: workspace.id }
  const tags = useRead(
    ['workspace-tags', workspace.id],
    (api, signal) => api.v2.listWorkspaceEffectiveTagBindings({ params, signal }),
    { watches: [{ topic: 'Workspace' }, { topic: 'Project' }] },
  )
  const save = async (next: readonly Tag[], isWhole: boolean) => {
    const body = tagBindingsOf(next)
    const done = await act({
      call: async (api) => {
        if (isWhole) await api.v2.replaceWorkspaceTagBindings({ params, body })
        else await api.v2.updateWorkspaceTagBindings({ params, body })
        return true
      },
      done: 'The tags are saved.',
    })
    return done !== undefined
  }
  return (
    <QueryView query={tags} what="the tags">
      {({ data }) => (
        <>
          <Panel title="Tags of the workspace">
            <TagEditor
              organization={organization}
              tags={data.filter((tag) => !isInherited(tag)).map(({ attributes }) => attributes)}
              refusal={workspaceCan.manageTags(workspace)}
              removal={workspaceCan.removeTags(workspace)}
              onSave={save}
            />
          </Panel>
          <Inherited organization={organization} tags={data.filter(isInherited)} />
        </>
      )}
    </QueryView>
  )
}

function isInherited(tag: v2.EffectiveTagBinding): boolean {
  return tag.relationships !== undefined
}

interface InheritedProps {
  readonly organization: string
  readonly tags: readonly v2.EffectiveTagBinding[]
}

function Inherited({ organization, tags }: InheritedProps) {
  if (tags.length === 0) return null
  return (
    <Panel title="From its project">
      <ul className="row tags">
        {tags.map(({ id, attributes, relationships }) => (
          <li key={id}>
            <Link
              className="tag"
              href={paths.project(organization, relationships?.['inherited-from'].data.id ?? '')}
            >
              {attributes.value === '' ? attributes.key : `${attributes.key}: ${attributes.value}`}
            </Link>
          </li>
        ))}
      </ul>
    </Panel>
  )
}

export function WorkspaceSettingsTab({ organization, workspace }: WorkspaceView) {
  const act = useAct()
  const { attributes } = workspace
  const [name, setName] = useState(attributes.name)
  const [description, setDescription] = useState(attributes.description ?? '')
  const [isAutomatic, setAutomatic] = useState(attributes['auto-apply'])
  const [drift, setDrift] = useState(attributes['drift-check-interval'] ?? '')
  const save = async () => {
    const done = await act({
      call: (api) =>
        api.v2.updateWorkspace({
          params: { workspace_id: workspace.id },
          body: resource('workspaces', {
            name,
            description,
            'auto-apply': isAutomatic,
            'drift-check-interval': drift === '' ? null : drift,
          }),
        }),
      done: 'The settings are saved.',
    })
    // The name is in the address.
    if (done !== undefined)
      navigate(paths.workspace(organization, name, 'settings'), { replace: true })
  }
  return (
    <div className="narrow">
      <Panel title="Settings">
        <form className="stack" onSubmit={(event) => event.preventDefault()}>
          <TextField label="Name" value={name} onChange={setName} />
          <TextField label="Description" isOptional value={description} onChange={setDescription} />
          <CheckField
            label="Apply runs by themselves when the policies pass"
            value={isAutomatic}
            onChange={setAutomatic}
          />
          <TextField
            label="Time between drift checks"
            isOptional
            value={drift}
            onChange={setDrift}
            hint="Such as 24h or 7d: a plan that only refreshes tells what has changed outside of runs."
          />
          <div>
            <ActionButton
              kind="primary"
              refusal={workspaceCan.update(workspace)}
              onAct={save}
              isSubmit
            >
              Save settings
            </ActionButton>
          </div>
        </form>
      </Panel>
      <Panel title="Delete">
        <DeleteButton
          what={`the workspace ${attributes.name}`}
          body={
            <p>Its runs and their verdicts go with it. It has to be open and manage nothing.</p>
          }
          refusal={workspaceCan.destroy(workspace)}
          call={(api) => api.v2.safeDeleteWorkspace({ params: { workspace_id: workspace.id } })}
          after={paths.organization(organization, 'workspaces')}
        />
      </Panel>
    </div>
  )
}
