import type { Job, JobSubmission } from '@reeve/contract'
import { useState } from 'react'
import { jobCan } from '../../actions/job-can.ts'
import { useOptional } from '../../data/use-read.ts'
import { Editor } from '../../editor/lazy-editor.tsx'
import { ActionButton } from '../../parts/action-button.tsx'
import { Panel } from '../../parts/panel.tsx'
import { QueryView } from '../../parts/query-view.tsx'
import { hrefWith, navigate } from '../../routing/location.ts'
import { useSession } from '../../session/session.tsx'
import { useDraft } from './draft.ts'
import { JobEditor } from './job-editor.tsx'
import { jobAsJson, type JobSource } from './job-source.ts'
import { isEditing, type JobView } from './job-view.ts'

/** The definition as it was written, and the way to a new version. */
export function DefinitionTab({ job, search }: JobView) {
  const line = Number(search.get('line') ?? Number.NaN)
  const wanted = Number.isInteger(line) && line > 0 ? line : undefined
  return isEditing(search) ? <EditedDefinition job={job} line={wanted} /> : <Definition job={job} />
}

/** Only where a text was sent, and only the latest six. */
function useSubmission({ Namespace: namespace, ID: job_id, Version: version }: Job) {
  return useOptional(['job-submission', namespace, job_id, version], (api, signal) =>
    api.v1.readJobSubmission({ params: { job_id }, query: { namespace, version }, signal }),
  )
}

function sourceOf(job: Job, submission: JobSubmission | null): JobSource {
  if (submission === null) return { text: jobAsJson(job), format: 'json', variables: '' }
  const flags = Object.entries(submission.VariableFlags ?? {})
  const variables = [submission.Variables, ...flags.map(([name, value]) => `${name} = ${value}`)]
  return {
    text: submission.Source,
    format: submission.Format === 'json' ? 'json' : 'hcl2',
    variables: variables.filter((line) => line !== '').join('\n'),
  }
}

function Definition({ job }: { readonly job: Job }) {
  const submission = useSubmission(job)
  return (
    <QueryView query={submission} what="the definition">
      {(found) => <DefinitionText job={job} source={sourceOf(job, found)} />}
    </QueryView>
  )
}

interface DefinitionTextProps {
  readonly job: Job
  readonly source: JobSource
}

function DefinitionText({ job, source }: DefinitionTextProps) {
  const { rights } = useSession()
  return (
    <Panel
      title={source.format === 'json' ? 'Definition, as JSON' : 'Definition'}
      actions={
        <ActionButton
          refusal={jobCan.edit(job, rights)}
          onAct={() => navigate(hrefWith({ edit: 'yes' }))}
        >
          Edit
        </ActionButton>
      }
      isFlush
    >
      <Editor
        label="Definition of the job"
        language={source.format === 'json' ? 'json' : 'hcl'}
        value={source.text}
        isReadOnly
      />
    </Panel>
  )
}

interface EditedDefinitionProps {
  readonly job: Job
  readonly line: number | undefined
}

function EditedDefinition({ job, line }: EditedDefinitionProps) {
  // What the editing began with: the job itself follows what others do, and another text would
  // take the place of the one that is typed into.
  const [begun, setBegun] = useState(job)
  const submission = useSubmission(begun)
  return (
    <QueryView query={submission} what="the definition">
      {(found) => (
        <DefinitionEditor
          job={job}
          begun={begun}
          line={line}
          source={sourceOf(begun, found)}
          onTakeTheirs={() => setBegun(job)}
        />
      )}
    </QueryView>
  )
}

interface DefinitionEditorProps extends EditedDefinitionProps {
  readonly begun: Job
  readonly source: JobSource
  readonly onTakeTheirs: () => void
}

function DefinitionEditor(props: DefinitionEditorProps) {
  const { job, begun, source, onTakeTheirs, line } = props
  const draft = useDraft(`${job.Namespace}/${job.ID}`, source)
  const leave = () => {
    draft.discard()
    navigate(hrefWith({ edit: undefined }))
  }
  const takeTheirs = () => {
    draft.discard()
    onTakeTheirs()
  }
  return (
    <Panel
      title="Edit the definition"
      actions={
        <button type="button" className="button" onClick={leave}>
          {draft.isChanged ? 'Discard changes' : 'Keep as is'}
        </button>
      }
    >
      {job.Version !== begun.Version && (
        <ChangedNote from={begun.Version} to={job.Version} onTakeTheirs={takeTheirs} />
      )}
      <JobEditor
        source={draft.source}
        onChange={draft.change}
        onRun={draft.discard}
        namespace={job.Namespace}
        version={job.Version}
        line={line}
      />
    </Panel>
  )
}

interface ChangedNoteProps {
  readonly from: number
  readonly to: number
  readonly onTakeTheirs: () => void
}

function ChangedNote({ from, to, onTakeTheirs }: ChangedNoteProps) {
  return (
    <div className="note tone-warn" role="alert">
      <p>
        The job was changed while you edited: version {from} is now version {to}. Nothing of yours
        is lost. Plan it to see what would change of theirs.
      </p>
      <div className="row">
        <ActionButton onAct={onTakeTheirs}>Use theirs</ActionButton>
      </div>
    </div>
  )
}
