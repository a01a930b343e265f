import { ChangeScript, TaskArtifact, Template, TemplateWait } from '@reeve/contract'
import { nsFromMs } from '@reeve/kit/duration.ts'
import { fullSignalName } from '@reeve/kit/signal.ts'
import { fallBack, textOf, type Draft } from '../build/draft.ts'
import { bool, duration, int, one, tableOf, text, textMap, texts } from './table.ts'

export const ARTIFACT = tableOf(TaskArtifact, {
  attributes: {
    source: text('GetterSource'),
    options: textMap('GetterOptions'),
    headers: textMap('GetterHeaders'),
    mode: text('GetterMode'),
    insecure: bool('GetterInsecure'),
    destination: text('RelativeDest'),
    chown: bool('Chown'),
  },
})

const CHANGE_SCRIPT = tableOf(ChangeScript, {
  attributes: {
    command: text('Command'),
    args: texts('Args'),
    timeout: duration('Timeout'),
    fail_on_error: bool('FailOnError'),
    run_on_first_render: bool('RunOnFirstRender'),
  },
  finish: fillChangeScript,
})

const WAIT = tableOf(TemplateWait, { attributes: { min: duration('Min'), max: duration('Max') } })

export const TEMPLATE = tableOf(Template, {
  attributes: {
    source: text('SourcePath'),
    destination: text('DestPath'),
    data: text('EmbeddedTmpl'),
    change_mode: text('ChangeMode'),
    change_signal: text('ChangeSignal'),
    once: bool('Once'),
    splay: duration('Splay'),
    perms: text('Perms'),
    uid: int('Uid'),
    gid: int('Gid'),
    left_delimiter: text('LeftDelim'),
    right_delimiter: text('RightDelim'),
    env: bool('Envvars'),
    error_on_missing_key: bool('ErrMissingKey'),
  },
  blocks: { change_script: one('ChangeScript', CHANGE_SCRIPT), wait: one('Wait', WAIT) },
  finish: fillTemplate,
})

const FIVE_SECONDS_NS = nsFromMs(5_000)

/** Defaults are set when the file is read. */
function fillTemplate(draft: Draft): void {
  fallBack(draft, 'ChangeMode', 'restart')
  fallBack(draft, 'ChangeSignal', textOf(draft, 'ChangeMode') === 'signal' ? 'SIGHUP' : '')
  draft.values.set('ChangeSignal', fullSignalName(textOf(draft, 'ChangeSignal') ?? ''))
  fallBack(draft, 'Once', false)
  fallBack(draft, 'Splay', FIVE_SECONDS_NS)
  fallBack(draft, 'Perms', '0644')
  fallBack(draft, 'LeftDelim', '{{')
  fallBack(draft, 'RightDelim', '}}')
  fallBack(draft, 'Envvars', false)
  fallBack(draft, 'ErrMissingKey', false)
}

function fillChangeScript(draft: Draft): void {
  fallBack(draft, 'Args', [])
  fallBack(draft, 'Timeout', FIVE_SECONDS_NS)
  fallBack(draft, 'FailOnError', false)
  fallBack(draft, 'RunOnFirstRender', false)
}
