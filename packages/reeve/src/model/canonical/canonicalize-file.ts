import type { ChangeScript, Input, TaskArtifact, Template, TemplateWait } from '@reeve/contract'
import { nsFromMs } from '@reeve/kit/duration.ts'
import { canonicalSignalName } from '@reeve/kit/signal.ts'
import { applyDefaults, isUnset, stringMapOrNull, stringsOrNull } from './unset.ts'

const FIVE_SECONDS_NS = nsFromMs(5_000)

export function canonicalizeTemplate(input: Input<Template>): Template {
  const mode = input.ChangeMode ?? 'restart'
  return {
    SourcePath: input.SourcePath ?? '',
    DestPath: input.DestPath ?? '',
    EmbeddedTmpl: input.EmbeddedTmpl ?? '',
    ChangeMode: mode,
    ChangeSignal: canonicalSignalName(input.ChangeSignal ?? (mode === 'signal' ? 'SIGHUP' : '')),
    ChangeScript: canonicalizeChangeScript(input.ChangeScript),
    Once: input.Once ?? false,
    Splay: input.Splay ?? FIVE_SECONDS_NS,
    Perms: input.Perms ?? '0644',
    Uid: input.Uid ?? null,
    Gid: input.Gid ?? null,
    LeftDelim: input.LeftDelim ?? '{{',
    RightDelim: input.RightDelim ?? '}}',
    Envvars: input.Envvars ?? false,
    Wait: canonicalizeWait(input.Wait),
    ErrMissingKey: input.ErrMissingKey ?? false,
  }
}

export function canonicalizeArtifact(input: Input<TaskArtifact>): TaskArtifact {
  const source = input.GetterSource ?? ''
  const mode = input.GetterMode ?? 'any'
  return {
    GetterSource: source,
    GetterOptions: stringMapOrNull(input.GetterOptions),
    GetterHeaders: stringMapOrNull(input.GetterHeaders),
    GetterMode: mode,
    GetterInsecure: input.GetterInsecure ?? false,
    // With mode `file` the destination is the file itself.
    RelativeDest: input.RelativeDest ?? (mode === 'file' ? `local/${baseName(source)}` : 'local/'),
    Chown: input.Chown ?? false,
  }
}

function canonicalizeChangeScript(
  input: Input<ChangeScript> | null | undefined,
): ChangeScript | null {
  if (isUnset(input)) return null
  return {
    Command: input.Command ?? '',
    Args: stringsOrNull(input.Args),
    Timeout: input.Timeout ?? FIVE_SECONDS_NS,
    FailOnError: input.FailOnError ?? false,
    RunOnFirstRender: input.RunOnFirstRender ?? false,
  }
}

function canonicalizeWait(input: Input<TemplateWait> | null | undefined): TemplateWait | null {
  if (isUnset(input)) return null
  return applyDefaults<TemplateWait>({ Min: null, Max: null }, input)
}

function baseName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}
