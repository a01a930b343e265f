import { v2 } from '@reeve/contract'
import { resource } from '@reeve/sdk'
import { useState } from 'react'
import { useApiAction } from '../../data/use-act.ts'
import { ChoiceField, FormDialog, TextField } from '../../parts/form.tsx'
import { paths } from '../../paths.ts'
import { navigate } from '../../routing/location.ts'
import { QUERY_EXAMPLE } from './examples.ts'

interface NewPolicyProps {
  readonly organization: string
  readonly onClose: () => void
}

/** The dialog to create a policy; its code is written afterwards. */
export function NewPolicy({ organization, onClose }: NewPolicyProps) {
  const createPolicy = useCreatePolicy(organization)
  const [name, setName] = useState('')
  const [description, setDescription] = useState('')
  const [kind, setKind] = useState<v2.PolicyKind>('native')
  const [query, setQuery] = useState(QUERY_EXAMPLE)
  const [level, setLevel] = useState<v2.EnforcementLevel>('advisory')
  const create = () =>
    createPolicy({
      name,
      kind,
      description,
      query: kind === 'opa' ? query : null,
      'enforcement-level': level,
    })
  const changeKind = (newKind: v2.PolicyKind) => {
    setKind(newKind)
    setLevel('advisory')
  }
  return (
    <FormDialog
      title="New policy"
      action="Create"
      disabledReason={name === '' ? 'Enter a name.' : undefined}
      onSubmit={create}
      onClose={onClose}
    >
      <TextField
        label="Name"
        attribute="name"
        value={name}
        onChange={setName}
        hint="It cannot be changed later."
      />
      <ChoiceField
        label="Kind"
        attribute="kind"
        value={kind}
        onChange={changeKind}
        choices={v2.POLICY_KINDS}
      />
      {kind === 'opa' && (
        <TextField
          label="Query"
          attribute="query"
          value={query}
          onChange={setQuery}
          hint="The query whose results are denials."
        />
      )}
      <ChoiceField<v2.EnforcementLevel>
        label="Enforcement level"
        attribute="enforcement-level"
        value={level}
        onChange={setLevel}
        choices={v2.ENFORCEMENT_LEVELS[kind]}
      />
      <TextField
        label="Description"
        attribute="description"
        isOptional
        value={description}
        onChange={setDescription}
      />
    </FormDialog>
  )
}

type PolicyAttributes = v2.RunPolicyCreateRequest['data']['attributes']

/** Creates a policy and opens its page; resolves to whether it was created. */
function useCreatePolicy(organization: string) {
  const callApi = useApiAction()
  return async (attributes: PolicyAttributes) => {
    const created = await callApi({
      call: (api) =>
        api.v2.createPolicy({
          params: { organization_name: organization },
          body: resource('policies', attributes),
        }),
      successMessage: `The policy ${attributes.name} is created. Write its code.`,
    })
    if (created !== undefined) navigate(paths.policy(organization, created.data.data.id))
    return created !== undefined
  }
}
