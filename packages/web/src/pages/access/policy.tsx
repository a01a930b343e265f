import type { AclPolicy } from '@reeve/contract'
import { useState } from 'react'
import { accessDisabledReason } from '../../permissions/cluster.ts'
import { useApiAction } from '../../data/api-action.ts'
import { useApiQuery } from '../../data/api-query.ts'
import { Editor } from '../../components/lazy.tsx'
import { ActionButton } from '../../components/action-button.tsx'
import { CliAndApiPanel } from '../../components/command-line.tsx'
import { useConfirm } from '../../components/dialog.tsx'
import { Field } from '../../components/form.tsx'
import { PageHeader, Panel } from '../../components/page.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { paths } from '../../paths.ts'
import { navigate } from '../../routing/location.ts'
import type { PageProps } from '../../routing/route.ts'
import { useSession } from '../../session/session.tsx'
import '../../style/jobs.css'
import { AccessControlGuard } from './access-control-guard.tsx'

const EXAMPLE_RULES = `namespace "default" {
  policy = "read"
}

node {
  policy = "read"
}
`

/** The form for a new ACL policy. */
export function NewAccessPolicyPage() {
  return (
    <AccessControlGuard>
      <PageHeader
        title="New ACL policy"
        crumbs={[{ text: 'ACL policies', href: paths.accessPolicies() }]}
      />
      <PolicyForm policy={undefined} />
      <CliAndApiPanel
        cli="reeve acl policy apply NAME rules.hcl"
        call={{
          method: 'POST',
          path: '/v1/acl/policy/NAME',
          body: { Name: 'NAME', Rules: EXAMPLE_RULES },
        }}
      />
    </AccessControlGuard>
  )
}

/** An ACL policy, with a form to edit it. */
export function AccessPolicyPage({ params }: PageProps<'/access/policies/:policyName'>) {
  return (
    <AccessControlGuard>
      <PolicyView name={params.policyName} />
    </AccessControlGuard>
  )
}

function PolicyView({ name }: { readonly name: string }) {
  const query = useApiQuery(
    ['access-policy', name],
    (api, signal) => api.v1.readAclPolicy({ params: { policy_name: name }, signal }),
    { watches: [{ topic: 'ACLPolicy', key: name }] },
  )
  return (
    <QueryView
      query={query}
      what="the policy"
      page={{ title: name, crumbs: [{ text: 'ACL policies', href: paths.accessPolicies() }] }}
    >
      {(policy) => (
        <>
          <PageHeader
            title={policy.Name}
            crumbs={[{ text: 'ACL policies', href: paths.accessPolicies() }]}
            lead={policy.Description === '' ? undefined : policy.Description}
            actions={<DeletePolicy name={policy.Name} />}
          />
          <PolicyForm key={policy.ModifyIndex} policy={policy} />
          <CliAndApiPanel
            cli={`reeve acl policy read ${name}`}
            call={{ path: `/v1/acl/policy/${encodeURIComponent(name)}` }}
          />
        </>
      )}
    </QueryView>
  )
}

function DeletePolicy({ name }: { readonly name: string }) {
  const { permissions } = useSession()
  const callApi = useApiAction()
  const confirm = useConfirm()
  const remove = async () => {
    const title = `Delete the policy ${name}?`
    const body = 'Tokens and roles lose the permissions it grants.'
    if (!(await confirm({ title, body, action: 'Delete the policy', isDangerous: true }))) return
    const result = await callApi({
      call: (api) => api.v1.deleteAclPolicy({ params: { policy_name: name } }),
      successMessage: 'The policy is deleted.',
    })
    if (result !== undefined) navigate(paths.accessPolicies())
  }
  return (
    <ActionButton
      kind="danger"
      disabledReason={accessDisabledReason.write(permissions)}
      onAction={remove}
    >
      Delete…
    </ActionButton>
  )
}

function PolicyForm({ policy }: { readonly policy: AclPolicy | undefined }) {
  const { permissions } = useSession()
  const callApi = useApiAction()
  const [name, setName] = useState(policy?.Name ?? '')
  const [description, setDescription] = useState(policy?.Description ?? '')
  const [rules, setRules] = useState(policy?.Rules ?? EXAMPLE_RULES)
  const isChanged =
    policy === undefined || rules !== policy.Rules || description !== policy.Description
  const disabledReason =
    accessDisabledReason.write(permissions) ??
    (name.trim() === '' ? 'Enter a name.' : undefined) ??
    (isChanged ? undefined : 'There are no changes.')
  const save = async () => {
    const body = {
      Name: name.trim(),
      Description: description,
      Rules: rules,
      JobACL: policy?.JobACL ?? null,
    }
    const result = await callApi({
      call: (api) => api.v1.writeAclPolicy({ params: { policy_name: body.Name }, body }),
      successMessage: `The policy ${body.Name} is saved.`,
    })
    if (result !== undefined && policy === undefined) navigate(paths.accessPolicy(body.Name))
  }
  const isReadOnly = accessDisabledReason.write(permissions) !== undefined
  return (
    <form className="stack" onSubmit={(event) => event.preventDefault()}>
      {policy === undefined && (
        <Field label="Name">
          {(attributes) => (
            <input {...attributes} value={name} onChange={(event) => setName(event.target.value)} />
          )}
        </Field>
      )}
      <Field label="Description" isOptional>
        {(attributes) => (
          <input
            {...attributes}
            value={description}
            readOnly={isReadOnly}
            onChange={(event) => setDescription(event.target.value)}
          />
        )}
      </Field>
      <Panel title="Rules" isFlush>
        <Editor
          label="Rules"
          language="hcl"
          value={rules}
          onChange={setRules}
          isReadOnly={isReadOnly}
          minHeight="200px"
        />
      </Panel>
      <div className="row">
        <ActionButton kind="primary" disabledReason={disabledReason} onAction={save} isSubmit>
          {policy === undefined ? 'Create the policy' : 'Save'}
        </ActionButton>
      </div>
    </form>
  )
}
