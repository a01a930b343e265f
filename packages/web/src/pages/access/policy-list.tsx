import type { AclPolicyStub } from '@reeve/contract'
import { useApiQuery } from '../../data/api-query.ts'
import { CliAndApiPanel } from '../../components/command-line.tsx'
import { DataTable, type Column } from '../../components/data-table.tsx'
import { EmptyState } from '../../components/notices.tsx'
import { FIRST_COMMANDS } from '../../commands.ts'
import { PageHeader } from '../../components/page.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { paths } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import { AccessControlGuard } from './access-control-guard.tsx'

const COLUMNS: readonly Column<AclPolicyStub>[] = [
  { id: 'name', head: 'Policy', width: '36%', cell: ({ Name }) => Name },
  { id: 'description', head: 'Description', cell: ({ Description }) => Description || '–' },
  {
    id: 'job',
    head: 'Job',
    width: '20%',
    isExtra: true,
    cell: ({ JobACL }) => JobACL?.JobID ?? '–',
  },
]

/** The list of ACL policies. */
export function AccessPolicyListPage() {
  return (
    <>
      <PageHeader
        title="ACL policies"
        lead="Named sets of rules for tokens and roles."
        actions={
          <Link className="button primary" href={paths.newAccessPolicy()}>
            New policy
          </Link>
        }
      />
      <AccessControlGuard>
        <Policies />
      </AccessControlGuard>
      <CliAndApiPanel cli="reeve acl policy list" call={{ path: '/v1/acl/policies' }} />
    </>
  )
}

function Policies() {
  const policies = useApiQuery(
    ['access-policies'],
    (api, signal) => api.v1.listAclPolicies({ signal }),
    { watches: [{ topic: 'ACLPolicy' }] },
  )
  return (
    <QueryView query={policies} what="the policies">
      {(list) => (
        <DataTable
          label="ACL policies"
          columns={COLUMNS}
          rows={list}
          keyOf={({ Name }) => Name}
          hrefOf={({ Name }) => paths.accessPolicy(Name)}
          empty={
            <EmptyState title="No policies" command={FIRST_COMMANDS.aclPolicies}>
              <p>
                An ACL policy grants capabilities on namespaces, nodes and other resources. Create
                one, then create a token that uses it.
              </p>
            </EmptyState>
          }
        />
      )}
    </QueryView>
  )
}
