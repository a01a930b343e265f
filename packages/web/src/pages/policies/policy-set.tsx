import type { v2 } from '@reeve/contract'
import { resource } from '@reeve/sdk'
import { useState } from 'react'
import { organizationDisabledReason } from '../../permissions/governance.ts'
import { useApiAction } from '../../data/api-action.ts'
import { useApiQuery } from '../../data/api-query.ts'
import { ActionButton, DeleteButton } from '../../components/action-button.tsx'
import { CliAndApiPanel } from '../../components/command-line.tsx'
import { quoteShellArg } from '../../commands.ts'
import { DataTable, type Column } from '../../components/data-table.tsx'
import { CheckField, FormDialog, TextField } from '../../components/form.tsx'
import { PageHeader, Panel } from '../../components/page.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { paths } from '../../paths.ts'
import type { DisabledReason } from '../../permissions/disabled-reason.ts'
import type { PageProps } from '../../routing/route.ts'
import {
  organizationCrumbs,
  OrganizationPageFrame,
  OrganizationGuard,
} from '../governance/in-organization.tsx'
import { scopeText } from './policy-text.ts'
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

interface ParametersPanelProps {
  readonly policySet: v2.PolicySet
  readonly disabledReason: DisabledReason
}

/** Parameters of a policy set, which its policies can read. */
function ParametersPanel({ policySet, disabledReason }: ParametersPanelProps) {
  const [edited, setEdited] = useState<v2.PolicySetParameter | 'new'>()
  const parameters = useApiQuery(
    ['parameters', policySet.id],
    (api, signal) =>
      api.v2.listPolicySetParameters({
        params: { policy_set_id: policySet.id },
        query: { 'page[size]': 100 },
        signal,
      }),
    { watches: [{ topic: 'PolicySet' }] },
  )
  return (
    <Panel
      title="Parameters"
      isFlush
      actions={
        <ActionButton disabledReason={disabledReason} onAction={() => setEdited('new')}>
          New parameter…
        </ActionButton>
      }
    >
      <QueryView query={parameters} what="the parameters">
        {({ data }) => (
          <DataTable
            label="Parameters"
            columns={columnsOf({ policySetId: policySet.id, disabledReason, onEdit: setEdited })}
            rows={data}
            keyOf={({ id }) => id}
            empty={<p className="quiet padded">No parameters. Policies read them by name.</p>}
          />
        )}
      </QueryView>
      {edited !== undefined && (
        <ParameterForm
          policySetId={policySet.id}
          parameter={edited === 'new' ? undefined : edited}
          onClose={() => setEdited(undefined)}
        />
      )}
    </Panel>
  )
}

interface ColumnContext {
  /** ID of the policy set. */
  readonly policySetId: string
  readonly disabledReason: DisabledReason
  readonly onEdit: (parameter: v2.PolicySetParameter) => void
}

function columnsOf({
  policySetId,
  disabledReason,
  onEdit,
}: ColumnContext): readonly Column<v2.PolicySetParameter>[] {
  return [
    { id: 'key', head: 'Key', cell: ({ attributes }) => <code>{attributes.key}</code> },
    {
      id: 'value',
      head: 'Value',
      cell: ({ attributes }) =>
        attributes.sensitive ? (
          <span className="quiet">sensitive, never shown</span>
        ) : (
          <code>{attributes.value}</code>
        ),
    },
    {
      id: 'actions',
      head: 'Actions',
      width: '180px',
      cell: (parameter) => (
        <div className="row">
          <ActionButton disabledReason={disabledReason} onAction={() => onEdit(parameter)}>
            Edit…
          </ActionButton>
          <RemoveParameter
            policySetId={policySetId}
            parameter={parameter}
            disabledReason={disabledReason}
          />
        </div>
      ),
    },
  ]
}

interface RemoveParameterProps {
  readonly policySetId: string
  readonly parameter: v2.PolicySetParameter
  readonly disabledReason: DisabledReason
}

function RemoveParameter({ policySetId, parameter, disabledReason }: RemoveParameterProps) {
  const callApi = useApiAction()
  const remove = async () => {
    await callApi({
      call: (api) =>
        api.v2.deletePolicySetParameter({
          params: { policy_set_id: policySetId, parameter_id: parameter.id },
        }),
      successMessage: `${parameter.attributes.key} is removed.`,
    })
  }
  return (
    <ActionButton disabledReason={disabledReason} onAction={remove}>
      Remove
    </ActionButton>
  )
}

interface ParameterFormProps {
  /** ID of the policy set. */
  readonly policySetId: string
  readonly parameter: v2.PolicySetParameter | undefined
  readonly onClose: () => void
}

function ParameterForm({ policySetId, parameter, onClose }: ParameterFormProps) {
  const callApi = useApiAction()
  const [key, setKey] = useState(parameter?.attributes.key ?? '')
  const [value, setValue] = useState(parameter?.attributes.value ?? '')
  const [isSensitive, setSensitive] = useState(parameter?.attributes.sensitive ?? false)
  const save = async () => {
    const attributes = { key, value, sensitive: isSensitive, category: 'policy-set' } as const
    const body = resource('vars', attributes)
    const params = { policy_set_id: policySetId }
    const result = await callApi({
      call: (api) =>
        parameter === undefined
          ? api.v2.createPolicySetParameter({ params, body })
          : api.v2.updatePolicySetParameter({
              params: { ...params, parameter_id: parameter.id },
              body,
            }),
      successMessage: `${key} is saved.`,
    })
    return result !== undefined
  }
  return (
    <FormDialog
      title={parameter === undefined ? 'New parameter' : 'Edit the parameter'}
      action="Save"
      disabledReason={key === '' ? 'Fill in the key.' : undefined}
      onSubmit={save}
      onClose={onClose}
    >
      <TextField label="Key" attribute="key" value={key} onChange={setKey} />
      <TextField label="Value" attribute="value" isOptional value={value} onChange={setValue} />
      <CheckField
        label="Sensitive"
        attribute="sensitive"
        value={isSensitive}
        onChange={setSensitive}
        hint="The value is never shown again. This cannot be undone."
      />
    </FormDialog>
  )
}
