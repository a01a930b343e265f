import { v2 } from '@reeve/contract'
import { resource } from '@reeve/sdk'
import { useState } from 'react'
import { organizationCan } from '../../actions/governance-can.ts'
import { useAct } from '../../data/use-act.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { CheckField, ChoiceField, TextField } from '../../parts/form.tsx'
import { Panel } from '../../parts/panel.tsx'
import { paths } from '../../paths.ts'
import { DeleteButton } from './deletion.tsx'
import type { OrganizationView } from './organization-view.ts'

/** The settings of an organization, and its end. */
export function SettingsTab({ organization }: OrganizationView) {
  return (
    <div className="narrow">
      <Settings key={organization.id} organization={organization} />
      <Panel title="Delete">
        <DeleteButton
          what={`the organization ${organization.id}`}
          body={<p>Its projects, workspaces, runs, policies and teams go with it.</p>}
          refusal={organizationCan.destroy(organization)}
          call={(api) =>
            api.v2.deleteOrganization({ params: { organization_name: organization.id } })
          }
          after={paths.organizations()}
        />
      </Panel>
    </div>
  )
}

interface SettingsProps {
  readonly organization: v2.Organization
}

function Settings({ organization }: SettingsProps) {
  const act = useAct()
  const { attributes } = organization
  const [email, setEmail] = useState(attributes.email)
  const [mode, setMode] = useState(attributes['default-execution-mode'])
  const [mayForce, setMayForce] = useState(attributes['allow-force-delete-workspaces'])
  const [hasUserTokens, setUserTokens] = useState(attributes['user-tokens-enabled'])
  const [needsComment, setNeedsComment] = useState(attributes['require-override-comment'])
  const save = async () => {
    await act({
      call: (api) =>
        api.v2.updateOrganization({
          params: { organization_name: organization.id },
          body: resource('organizations', {
            email,
            'default-execution-mode': mode,
            'allow-force-delete-workspaces': mayForce,
            'user-tokens-enabled': hasUserTokens,
            'require-override-comment': needsComment,
          }),
        }),
      done: 'The settings are saved.',
    })
  }
  return (
    <Panel title="Settings">
      <form className="stack" onSubmit={(event) => event.preventDefault()}>
        <TextField label="Email" kind="email" value={email} onChange={setEmail} />
        <ChoiceField
          label="Where runs execute"
          value={mode}
          onChange={setMode}
          choices={v2.EXECUTION_MODES}
        />
        <CheckField
          label="Whoever passes over a policy has to say why"
          value={needsComment}
          onChange={setNeedsComment}
        />
        <CheckField
          label="Workspaces that manage resources may be deleted by force"
          value={mayForce}
          onChange={setMayForce}
        />
        <CheckField
          label="Tokens of users count here"
          value={hasUserTokens}
          onChange={setUserTokens}
        />
        <div>
          <ActionButton
            kind="primary"
            refusal={organizationCan.update(organization)}
            onAct={save}
            isSubmit
          >
            Save settings
          </ActionButton>
        </div>
      </form>
    </Panel>
  )
}
