import type { v2 } from '@reeve/contract'
import { resource } from '@reeve/sdk'
import { useState } from 'react'
import { workspaceDisabledReason } from '../../actions/governance-can.ts'
import { useApiAction } from '../../data/use-act.ts'
import { useApiQuery } from '../../data/use-read.ts'
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

/** The tab with the tags of the workspace and the tags inherited from its project. */
export function WorkspaceTagsTab({ organization, workspace }: WorkspaceView) {
  const callApi = useApiAction()
  const params = { workspace_id: workspace.id }
  const tags = useApiQuery(
    ['workspace-tags', workspace.id],
    (api, signal) => api.v2.listWorkspaceEffectiveTagBindings({ params, signal }),
    { watches: [{ topic: 'Workspace' }, { topic: 'Project' }] },
  )
  const save = async (next: readonly Tag[], replace: boolean) => {
    const body = tagBindingsOf(next)
    const result = await callApi({
      call: async (api) => {
        if (replace) await api.v2.replaceWorkspaceTagBindings({ params, body })
        else await api.v2.updateWorkspaceTagBindings({ params, body })
        return true
      },
      successMessage: 'The tags are saved.',
    })
    return result !== undefined
  }
  return (
    <QueryView query={tags} what="the tags">
      {({ data }) => (
        <>
          <Panel title="Tags of the workspace">
            <TagEditor
              organization={organization}
              tags={data.filter((tag) => !isInherited(tag)).map(({ attributes }) => attributes)}
              disabledReason={workspaceDisabledReason.manageTags(workspace)}
              removeDisabledReason={workspaceDisabledReason.removeTags(workspace)}
              onSave={save}
            />
          </Panel>
          <InheritedTags organization={organization} tags={data.filter(isInherited)} />
        </>
      )}
    </QueryView>
  )
}

function isInherited(tag: v2.EffectiveTagBinding): boolean {
  return tag.relationships !== undefined
}

interface InheritedTagsProps {
  readonly organization: string
  readonly tags: readonly v2.EffectiveTagBinding[]
}

function InheritedTags({ organization, tags }: InheritedTagsProps) {
  if (tags.length === 0) return null
  return (
    <Panel title="Inherited from the project">
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
  const callApi = useApiAction()
  const { attributes } = workspace
  const [name, setName] = useState(attributes.name)
  const [description, setDescription] = useState(attributes.description ?? '')
  const [autoApply, setAutoApply] = useState(attributes['auto-apply'])
  const [driftInterval, setDriftInterval] = useState(attributes['drift-check-interval'] ?? '')
  const save = async () => {
    const result = await callApi({
      call: (api) =>
        api.v2.updateWorkspace({
          params: { workspace_id: workspace.id },
          body: resource('workspaces', {
            name,
            description,
            'auto-apply': autoApply,
            'drift-check-interval': driftInterval === '' ? null : driftInterval,
          }),
        }),
      successMessage: 'The settings are saved.',
    })
    // The name is part of the URL.
    if (result !== undefined)
      navigate(paths.workspace(organization, name, 'settings'), { replace: true })
  }
  return (
    <div className="narrow">
      <Panel title="Settings">
        <form className="stack" onSubmit={(event) => event.preventDefault()}>
          <TextField label="Name" value={name} onChange={setName} />
          <TextField label="Description" isOptional value={description} onChange={setDescription} />
          <CheckField label="Auto apply" value={autoApply} onChange={setAutoApply} />
          <TextField
            label="Time between drift checks"
            isOptional
            value={driftInterval}
            onChange={setDriftInterval}
            hint="Such as 24h or 7d. A refresh-only plan reports changes made outside of runs."
          />
          <div>
            <ActionButton
              kind="primary"
              disabledReason={workspaceDisabledReason.update(workspace)}
              onAction={save}
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
            <p>Its runs are deleted too. The workspace must be unlocked and manage no resources.</p>
          }
          disabledReason={workspaceDisabledReason.destroy(workspace)}
          call={(api) => api.v2.safeDeleteWorkspace({ params: { workspace_id: workspace.id } })}
          returnTo={paths.organization(organization, 'workspaces')}
        />
      </Panel>
    </div>
  )
}
