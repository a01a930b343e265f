import { CliAndApiPanel } from '../../components/command-line.tsx'
import { PageHeader, Panel } from '../../components/page.tsx'
import { ALL_NAMESPACES, paths } from '../../paths.ts'
import type { PageProps } from '../../routing/route.ts'
import '../../style/jobs.css'
import { type JobSource, useJobDraft } from './job-source.ts'
import { JobEditor } from './job-editor.tsx'

const EXAMPLE: JobSource = {
  format: 'hcl2',
  variables: '',
  text: `job "hello" {
  # service: runs until it is stopped. batch: runs to its end.
  type = "service"

  group "hello" {
    count = 2

    task "hello" {
      driver = "raw_exec"

      config {
        command = "/bin/sh"
        args    = ["-c", "while true; do date; sleep 5; done"]
      }

      resources {
        cpu    = 50
        memory = 32
      }
    }
  }
}
`,
}

/** The page to submit a new job. */
export function RunJobPage({ search }: PageProps<'/run'>) {
  const chosen = search.get('namespace') ?? ALL_NAMESPACES
  const namespace = chosen === ALL_NAMESPACES ? 'default' : chosen
  const draft = useJobDraft('new', EXAMPLE)
  return (
    <>
      <PageHeader
        title="Submit job"
        crumbs={[{ text: 'Jobs', href: paths.jobs({ namespace: chosen }) }]}
        lead={`Write a definition, plan it to see what would happen, then run it. The default namespace is "${namespace}".`}
      />
      <Panel
        title="Definition"
        actions={
          draft.isChanged && (
            <button type="button" className="button" onClick={draft.discard}>
              Reset to the example
            </button>
          )
        }
      >
        <JobEditor
          source={draft.source}
          onChange={draft.change}
          onRun={draft.discard}
          namespace={namespace}
        />
      </Panel>
      <CliAndApiPanel
        cli="reeve job plan job.hcl && reeve job run job.hcl"
        call={{
          method: 'POST',
          path: '/v1/jobs',
          query: { namespace },
          body: { Job: { ID: 'hello' } },
        }}
      />
    </>
  )
}
