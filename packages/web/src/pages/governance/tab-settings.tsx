import { v2 } from '@reeve/contract'
import { resource } from '@reeve/sdk'
import { useState } from 'react'
import { organizationDisabledReason } from '../../permissions/governance.ts'
import { useApiAction } from '../../data/api-action.ts'
import { ActionButton, DeleteButton } from '../../components/action-button.tsx'
import { CheckField, ChoiceField, TextField } from '../../components/form.tsx'
import { Panel } from '../../components/page.tsx'
import { paths } from '../../paths.ts'
import type { OrganizationView } from './in-organization.tsx'

/** The tab with the settings of the organization and its deletion. */
export function SettingsTab({ organization }: OrganizationView) {
  return (
    <div className="narrow">
      <Settings key={organization.id} organization={organization} />
      <Panel title="Delete">
        <DeleteButton
          what={`the organization ${organization.id}`}
          body={<p>Its projects, workspaces, runs, policies and teams are deleted too.</p>}
          disabledReason={organizationDisabledReason.destroy(organization)}
          call={(api) =>
            api.v2.deleteOrganization({ params: { organization_name: organization.id } })
          }
          returnTo={paths.organizations()}
        />
      </Panel>
    </div>
  )
}

interface SettingsProps {
  readonly organization: v2.Organization
}

function Settings({ organization }: SettingsProps) {
  const callApi = useApiAction()
  const { attributes } = organization
  const [email, setEmail] = useState(attributes.email)
  const [mode, setMode] = useState(attributes['default-execution-mode'])
  const [allowForceDelete, setAllowForceDelete] = useState(
    attributes['allow-force-delete-workspaces'],
  )
  const [allowUserTokens, setAllowUserTokens] = useState(attributes['user-tokens-enabled'])
  const [requireComment, setRequireComment] = useState(attributes['require-override-comment'])
  const save = async () => {
    await callApi({
      call: (api) =>
        api.v2.updateOrganization({
          params: { organization_name: organization.id },
          body: resource('organizations', {
            email,
            'default-execution-mode': mode,
            'allow-force-delete-workspaces': allowForceDelete,
            'user-tokens-enabled': allowUserTokens,
            'require-override-comment': requireComment,
          }),
        }),
      successMessage: 'The settings are saved.',
    })
  }
  return (
    <Panel title="Settings">
      <form className="stack" onSubmit={(event) => event.preventDefault()}>
        <TextField label="Email" kind="email" value={email} onChange={setEmail} />
        <ChoiceField
          label="Default execution mode"
          value={mode}
          onChange={setMode}
          choices={v2.EXECUTION_MODES}
        />
        <CheckField
          label="Require a comment for policy overrides"
          value={requireComment}
          onChange={setRequireComment}
        />
        <CheckField
          label="Allow force-deleting workspaces that manage resources"
          value={allowForceDelete}
          onChange={setAllowForceDelete}
        />
        <CheckField
          label="Allow user API tokens"
          value={allowUserTokens}
          onChange={setAllowUserTokens}
        />
        <div>
          <ActionButton
            kind="primary"
            disabledReason={organizationDisabledReason.update(organization)}
            onAction={save}
            isSubmit
          >
            Save settings
          </ActionButton>
        </div>
      </form>
    </Panel>
  )
}
