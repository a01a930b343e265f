import type { v2 } from '@reeve/contract'
import { resource } from '@reeve/sdk'
import { useState } from 'react'
import { organizationCan } from '../../actions/governance-can.ts'
import { useAct } from '../../data/use-act.ts'
import { useRead } from '../../data/use-read.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { CommandLine } from '../../parts/command-line.tsx'
import { quoted } from '../../parts/curl-line.ts'
import { CheckField, FormDialog, TextField } from '../../parts/form.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { QueryView } from '../../parts/query-view.tsx'
import { paths } from '../../paths.ts'
import type { PageProps } from '../../routing/route.ts'
import { DeleteButton } from '../governance/deletion.tsx'
import { crumbsOf, InOrganization, OfOrganization } from '../governance/in-organization.tsx'
import { ParametersPanel } from './parameters-panel.tsx'
import { scopeText } from './scope-text.ts'
import { SetMembers } from './set-members.tsx'
import { SetVersions } from './set-versions.tsx'

/** A policy set: which policies, and where they apply. */
export function PolicySetPage({
  params,
}: PageProps<'/organizations/:organization/policy-sets/:policySetId'>) {
  return (
    <InOrganization name={params.organization}>
      {(organization) => <LoadedSet organization={organization} id={params.policySetId} />}
    </InOrganization>
  )
}

interface LoadedSetProps {
  readonly organization: v2.Organization
  readonly id: string
}

function LoadedSet({ organization, id }: LoadedSetProps) {
  const set = useRead(
    ['policy-set', id],
    (api, signal) =>
      api.v2.readPolicySet({
        params: { policy_set_id: id },
        query: { include: 'policies,workspaces,projects,workspace_exclusions,project_exclusions' },
        signal,
      }),
    { watches: [{ topic: 'PolicySet' }, { topic: 'Policy' }] },
  )
  return (
    <QueryView
      query={set}
      what="the policy set"
      page={{
        title: 'Policy set',
        crumbs: [
          ...crumbsOf(organization.id),
          { text: 'Policy sets', href: paths.organization(organization.id, 'policy-sets') },
        ],
      }}
    >
      {(document) => (
        <OfOrganization
          name={organization.id}
          owner={document.data.relationships.organization.data.id}
          hrefIn={(name) => paths.policySet(name, id)}
        >
          <SetHead organization={organization} set={document.data} />
          <SetMembers organization={organization} document={document} />
          <ParametersPanel
            set={document.data}
            refusal={organizationCan.updatePolicies(organization)}
          />
          <SetVersions set={document.data} refusal={organizationCan.updatePolicies(organization)} />
          <CommandLine
            cli={`reeve policy-set show --organization ${quoted(organization.id)} ${quoted(document.data.attributes.name)}`}
            call={{ path: `/api/v2/policy-sets/${id}`, query: { include: 'policies' } }}
          />
        </OfOrganization>
      )}
    </QueryView>
  )
}

interface SetHeadProps {
  readonly organization: v2.Organization
  readonly set: v2.PolicySet
}

function SetHead({ organization, set }: SetHeadProps) {
  const [isEditing, setEditing] = useState(false)
  const refusal = organizationCan.updatePolicies(organization)
  const { attributes } = set
  return (
    <>
      <PageHead
        title={attributes.name}
        crumbs={[
          ...crumbsOf(organization.id),
          { text: 'Policy sets', href: paths.organization(organization.id, 'policy-sets') },
        ]}
        aside={
          <>
            <span className="tag">{attributes.kind}</span>
            <span className="tag">applies to {scopeText(set)}</span>
            {attributes.overridable === true && <span className="tag">overridable</span>}
            {attributes.versioned && <span className="tag">versioned</span>}
          </>
        }
        lead={attributes.description ?? undefined}
        actions={
          <>
            <ActionButton refusal={refusal} onAct={() => setEditing(true)}>
              Edit…
            </ActionButton>
            <DeleteButton
              what={`the policy set ${attributes.name}`}
              body={<p>Its policies stay, and no longer apply through it.</p>}
              refusal={refusal}
              call={(api) => api.v2.deletePolicySet({ params: { policy_set_id: set.id } })}
              after={paths.organization(organization.id, 'policy-sets')}
            />
          </>
        }
      />
      {isEditing && <EditSet set={set} onClose={() => setEditing(false)} />}
    </>
  )
}

interface EditSetProps {
  readonly set: v2.PolicySet
  readonly onClose: () => void
}

function EditSet({ set, onClose }: EditSetProps) {
  const act = useAct()
  const { attributes } = set
  const [name, setName] = useState(attributes.name)
  const [description, setDescription] = useState(attributes.description ?? '')
  const [isGlobal, setGlobal] = useState(attributes.global)
  const [isOverridable, setOverridable] = useState(attributes.overridable ?? false)
  const save = async () => {
    const done = await act({
      call: (api) =>
        api.v2.updatePolicySet({
          params: { policy_set_id: set.id },
          body: resource('policy-sets', {
            name,
            description,
            global: isGlobal,
            ...(attributes.overridable === null ? {} : { overridable: isOverridable }),
          }),
        }),
      done: 'The policy set is saved.',
    })
    return done !== undefined
  }
  return (
    <FormDialog title="Edit the policy set" action="Save" onSubmit={save} onClose={onClose}>
      <TextField label="Name" attribute="name" value={name} onChange={setName} />
      <TextField
        label="Description"
        attribute="description"
        isOptional
        value={description}
        onChange={setDescription}
      />
      <CheckField
        label="Applies to every workspace of the organization"
        attribute="global"
        value={isGlobal}
        onChange={setGlobal}
        hint="Turning it on drops its projects, workspaces and namespaces."
      />
      {attributes.overridable !== null && (
        <CheckField
          label="Its policies may be overridden"
          attribute="overridable"
          value={isOverridable}
          onChange={setOverridable}
        />
      )}
    </FormDialog>
  )
}
