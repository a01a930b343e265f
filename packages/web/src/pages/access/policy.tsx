import type { AclPolicy } from '@reeve/contract'
import { useState } from 'react'
import { accessCan } from '../../actions/access-can.ts'
import { useAct } from '../../data/use-act.ts'
import { useRead } from '../../data/use-read.ts'
import { Editor } from '../../editor/lazy-editor.tsx'
import { ActionButton } from '../../parts/action-button.tsx'
import { CommandLine } from '../../parts/command-line.tsx'
import { useConfirm } from '../../parts/confirm.tsx'
import { Field } from '../../parts/field.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { Panel } from '../../parts/panel.tsx'
import { QueryView } from '../../parts/query-view.tsx'
import { paths } from '../../paths.ts'
import { navigate } from '../../routing/location.ts'
import type { PageProps } from '../../routing/route.ts'
import { useSession } from '../../session/session.tsx'
import '../../style/jobs.css'
import { WithAccessControl } from './access-off.tsx'

const FIRST_RULES = `namespace "default" {
  policy = "read"
}

node {
  policy = "read"
}
`

/** Writes a policy that is not there yet. */
export function NewAccessPolicyPage() {
  return (
    <WithAccessControl>
      <PageHead
        title="New access policy"
        crumbs={[{ text: 'Access policies', href: paths.accessPolicies() }]}
      />
      <PolicyForm policy={undefined} />
      <CommandLine
        cli="reeve acl policy apply NAME rules.hcl"
        call={{
          method: 'POST',
          path: '/v1/acl/policy/NAME',
          body: { Name: 'NAME', Rules: FIRST_RULES },
        }}
      />
    </WithAccessControl>
  )
}

/** One policy with its rules, to read and to change. */
export function AccessPolicyPage({ params }: PageProps<'/access/policies/:policyName'>) {
  return (
    <WithAccessControl>
      <PolicyView name={params.policyName} />
    </WithAccessControl>
  )
}

function PolicyView({ name }: { readonly name: string }) {
  const query = useRead(
    ['access-policy', name],
    (api, signal) => api.v1.readAclPolicy({ params: { policy_name: name }, signal }),
    { watches: [{ topic: 'ACLPolicy', key: name }] },
  )
  return (
    <QueryView
      query={query}
      what="the policy"
      page={{ title: name, crumbs: [{ text: 'Access policies', href: paths.accessPolicies() }] }}
    >
      {(policy) => (
        <>
          <PageHead
            title={policy.Name}
            crumbs={[{ text: 'Access policies', href: paths.accessPolicies() }]}
            lead={policy.Description === '' ? undefined : policy.Description}
            actions={<DeletePolicy name={policy.Name} />}
          />
          <PolicyForm key={policy.ModifyIndex} policy={policy} />
          <CommandLine
            cli={`reeve acl policy read ${name}`}
            call={{ path: `/v1/acl/policy/${encodeURIComponent(name)}` }}
          />
        </>
      )}
    </QueryView>
  )
}

function DeletePolicy({ name }: { readonly name: string }) {
  const { rights } = useSession()
  const act = useAct()
  const confirm = useConfirm()
  const remove = async () => {
    const title = `Delete the policy ${name}?`
    const body = 'Tokens and roles lose the permissions it grants.'
    if (!(await confirm({ title, body, action: 'Delete the policy', isDangerous: true }))) return
    const done = await act({
      call: (api) => api.v1.deleteAclPolicy({ params: { policy_name: name } }),
      done: 'The policy is deleted.',
    })
    if (done !== undefined) navigate(paths.accessPolicies())
  }
  return (
    <ActionButton kind="danger" refusal={accessCan.write(rights)} onAct={remove}>
      Delete…
    </ActionButton>
  )
}

function PolicyForm({ policy }: { readonly policy: AclPolicy | undefined }) {
  const { rights } = useSession()
  const act = useAct()
  const [name, setName] = useState(policy?.Name ?? '')
  const [description, setDescription] = useState(policy?.Description ?? '')
  const [rules, setRules] = useState(policy?.Rules ?? FIRST_RULES)
  const isChanged =
    policy === undefined || rules !== policy.Rules || description !== policy.Description
  const refusal =
    accessCan.write(rights) ??
    (name.trim() === '' ? 'Enter a name.' : undefined) ??
    (isChanged ? undefined : 'There are no changes.')
  const store = async () => {
    const body = {
      Name: name.trim(),
      Description: description,
      Rules: rules,
      JobACL: policy?.JobACL ?? null,
    }
    const done = await act({
      call: (api) => api.v1.writeAclPolicy({ params: { policy_name: body.Name }, body }),
      done: `The policy ${body.Name} is stored.`,
    })
    if (done !== undefined && policy === undefined) navigate(paths.accessPolicy(body.Name))
  }
  const mayNot = accessCan.write(rights) !== undefined
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
            readOnly={mayNot}
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
          isReadOnly={mayNot}
          minHeight="200px"
        />
      </Panel>
      <div className="row">
        <ActionButton kind="primary" refusal={refusal} onAct={store} isSubmit>
          {policy === undefined ? 'Create the policy' : 'Store'}
        </ActionButton>
      </div>
    </form>
  )
}
