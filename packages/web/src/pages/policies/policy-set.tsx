import type { v2 } from '@reeve/contract'
import { resource } from '@reeve/sdk'
import { useState } from 'react'
import { organizationDisabledReason } from '../../actions/governance-can.ts'
import { useApiAction } from '../../data/use-act.ts'
import { useApiQuery } from '../../data/use-read.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { CliAndApiPanel } from '../../parts/command-line.tsx'
import { quoteShellArg } from '../../parts/curl-line.ts'
import { CheckField, FormDialog, TextField } from '../../parts/form.tsx'
import { PageHeader } from '../../parts/page-head.tsx'
import { QueryView } from '../../parts/query-view.tsx'
import { paths } from '../../paths.ts'
import type { PageProps } from '../../routing/route.ts'
import { DeleteButton } from '../governance/deletion.tsx'
import {
  organizationCrumbs,
  OrganizationPageFrame,
  OrganizationGuard,
} from '../governance/in-organization.tsx'
import { ParametersPanel } from './parameters-panel.tsx'
import { scopeText } from './scope-text.ts'
import { SetMembers } from './set-members.tsx'
import { SetVersions } from './set-versions.tsx'

/** A policy set with its policies, scope, parameters and versions. */
export function PolicySetPage({
  params,
}: PageProps<'/organizations/:organization/policy-sets/:policySetId'>) {
  return (
    <OrganizationPageFrame name={params.organization}>
      {(organization) => <LoadedPolicySet organization={organization} id={params.policySetId} />}
    </OrganizationPageFrame>
  )
}

interface LoadedPolicySetProps {
  readonly organization: v2.Organization
  readonly id: string
}

function LoadedPolicySet({ organization, id }: LoadedPolicySetProps) {
  const query = useApiQuery(
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
      query={query}
      what="the policy set"
      page={{
        title: 'Policy set',
        crumbs: [
          ...organizationCrumbs(organization.id),
          { text: 'Policy sets', href: paths.organization(organization.id, 'policy-sets') },
        ],
      }}
    >
      {(document) => (
        <OrganizationGuard
          name={organization.id}
          owner={document.data.relationships.organization.data.id}
          hrefIn={(name) => paths.policySet(name, id)}
        >
          <PolicySetHeader organization={organization} policySet={document.data} />
          <SetMembers organization={organization} document={document} />
          <ParametersPanel
            policySet={document.data}
            disabledReason={organizationDisabledReason.updatePolicies(organization)}
          />
          <SetVersions
            policySet={document.data}
            disabledReason={organizationDisabledReason.updatePolicies(organization)}
          />
          <CliAndApiPanel
            cli={`reeve policy-set show --organization ${quoteShellArg(organization.id)} ${quoteShellArg(document.data.attributes.name)}`}
            call={{ path: `/api/v2/policy-sets/${id}`, query: { include: 'policies' } }}
          />
        </OrganizationGuard>
      )}
    </QueryView>
  )
}

interface PolicySetHeaderProps {
  readonly organization: v2.Organization
  readonly policySet: v2.PolicySet
}

function PolicySetHeader({ organization, policySet }: PolicySetHeaderProps) {
  const [isEditing, setEditing] = useState(false)
  const disabledReason = organizationDisabledReason.updatePolicies(organization)
  const { attributes } = policySet
  return (
    <>
      <PageHeader
        title={attributes.name}
        crumbs={[
          ...organizationCrumbs(organization.id),
          { text: 'Policy sets', href: paths.organization(organization.id, 'policy-sets') },
        ]}
        aside={
          <>
            <span className="tag">{attributes.kind}</span>
            <span className="tag">applies to {scopeText(policySet)}</span>
            {attributes.overridable === true && <span className="tag">overridable</span>}
            {attributes.versioned && <span className="tag">versioned</span>}
          </>
        }
        lead={attributes.description ?? undefined}
        actions={
          <>
            <ActionButton disabledReason={disabledReason} onAction={() => setEditing(true)}>
              Edit…
            </ActionButton>
            <DeleteButton
              what={`the policy set ${attributes.name}`}
              body={<p>Its policies stay, and no longer apply through it.</p>}
              disabledReason={disabledReason}
              call={(api) => api.v2.deletePolicySet({ params: { policy_set_id: policySet.id } })}
              returnTo={paths.organization(organization.id, 'policy-sets')}
            />
          </>
        }
      />
      {isEditing && <EditPolicySet policySet={policySet} onClose={() => setEditing(false)} />}
    </>
  )
}

interface EditPolicySetProps {
  readonly policySet: v2.PolicySet
  readonly onClose: () => void
}

function EditPolicySet({ policySet, onClose }: EditPolicySetProps) {
  const callApi = useApiAction()
  const { attributes } = policySet
  const [name, setName] = useState(attributes.name)
  const [description, setDescription] = useState(attributes.description ?? '')
  const [isGlobal, setGlobal] = useState(attributes.global)
  const [isOverridable, setOverridable] = useState(attributes.overridable ?? false)
  const save = async () => {
    const result = await callApi({
      call: (api) =>
        api.v2.updatePolicySet({
          params: { policy_set_id: policySet.id },
          body: resource('policy-sets', {
            name,
            description,
            global: isGlobal,
            ...(attributes.overridable === null ? {} : { overridable: isOverridable }),
          }),
        }),
      successMessage: 'The policy set is saved.',
    })
    return result !== undefined
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
