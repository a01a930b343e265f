import type { v2 } from '@reeve/contract'
import { toMany } from '@reeve/sdk'
import { projectCan } from '../../actions/governance-can.ts'
import { useAct } from '../../data/use-act.ts'
import { useRead } from '../../data/use-read.ts'
import { QueryView } from '../../parts/query-view.tsx'
import { paths } from '../../paths.ts'
import { findNamespaces } from './find.ts'
import { MemberPanel } from './member-panel.tsx'
import { useNamespaceGiving } from './use-namespace-giving.ts'

/** Namespaces of the workload API whose jobs the policy sets of the project guard. */
export function NamespacesPanel({ project }: { readonly project: v2.Project }) {
  const act = useAct()
  const addRefusal = useNamespaceGiving()
  const params = { project_id: project.id }
  const namespaces = useRead(['project-namespaces', project.id], (api, signal) =>
    api.v2.listProjectNamespaces({ params, signal }),
  )
  return (
    <QueryView query={namespaces} what="the namespaces">
      {({ data }) => (
        <MemberPanel
          title="Namespaces"
          label="Namespace"
          members={data.map(({ id }) => ({
            id,
            text: id,
            href: paths.jobs({ namespace: id }),
          }))}
          none="None. The policy sets of this project judge the jobs of the namespaces that are added here."
          refusal={projectCan.update(project)}
          addRefusal={addRefusal}
          queryKey={['namespaces']}
          find={(api, _text, signal) => findNamespaces(api, signal)}
          onAdd={async ({ id }) => {
            await act({
              call: (api) =>
                api.v2.addProjectNamespaces({ params, body: toMany('namespaces', [id]) }),
              done: `The jobs of ${id} are judged by the policy sets of the project.`,
            })
          }}
          onRemove={async ({ id }) => {
            await act({
              call: (api) =>
                api.v2.removeProjectNamespaces({ params, body: toMany('namespaces', [id]) }),
              done: `${id} is no longer of the project.`,
            })
          }}
        />
      )}
    </QueryView>
  )
}
