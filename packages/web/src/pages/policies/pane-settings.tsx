import { v2 } from '@reeve/contract'
import { resource } from '@reeve/sdk'
import { useState } from 'react'
import { organizationDisabledReason } from '../../actions/governance-can.ts'
import { useApiAction } from '../../data/use-act.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { ChoiceField, TextField } from '../../parts/form.tsx'
import { Panel } from '../../parts/panel.tsx'
import { SetsOfPolicy } from './sets-of-policy.tsx'
import type { PaneProps } from './pane-props.ts'

/** The settings of a policy; its name and kind cannot change. */
export function SettingsPane({ organization, policy }: PaneProps) {
  const callApi = useApiAction()
  const { attributes } = policy
  const [description, setDescription] = useState(attributes.description ?? '')
  const [query, setQuery] = useState(attributes.query ?? '')
  const [level, setLevel] = useState<v2.EnforcementLevel>(attributes['enforcement-level'])
  const save = async () => {
    await callApi({
      call: (api) =>
        api.v2.updatePolicy({
          params: { policy_id: policy.id },
          body: resource('policies', {
            description,
            'enforcement-level': level,
            ...(attributes.kind === 'opa' ? { query } : {}),
          }),
        }),
      successMessage: 'The policy is saved.',
    })
  }
  return (
    <>
      <Panel title="Settings">
        <form className="stack" onSubmit={(event) => event.preventDefault()}>
          <ChoiceField<v2.EnforcementLevel>
            label="Enforcement level"
            value={level}
            onChange={setLevel}
            choices={v2.ENFORCEMENT_LEVELS[attributes.kind]}
            hint={LEVEL_HINTS[level]}
          />
          {attributes.kind === 'opa' && (
            <TextField
              label="Query"
              value={query}
              onChange={setQuery}
              hint="The query whose results are denials."
            />
          )}
          <TextField label="Description" isOptional value={description} onChange={setDescription} />
          <div>
            <ActionButton
              kind="primary"
              disabledReason={organizationDisabledReason.updatePolicies(organization)}
              onAction={save}
              isSubmit
            >
              Save settings
            </ActionButton>
          </div>
        </form>
      </Panel>
      <SetsOfPolicy organization={organization.id} policy={policy} />
    </>
  )
}

const LEVEL_HINTS: Readonly<Record<v2.EnforcementLevel, string>> = {
  advisory: 'A failure is a warning.',
  'soft-mandatory': 'It denies; users who may override policies can allow it.',
  'hard-mandatory': 'It denies, and cannot be overridden.',
  mandatory: 'It denies; a set that allows overrides can be overridden.',
}
