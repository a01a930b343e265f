// Runs the everyday flows of a team with the unmodified Go client of the governance API, against
// the server that TFE_ADDRESS and TFE_TOKEN name. Prints one JSON object per step; the field
// "error" says what went wrong.
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/md5"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hashicorp/go-tfe"
)

const organization = "client"

type step struct {
	name string
	run  func(*client) error
	// executesRuns marks steps that need the tool on the node.
	executesRuns bool
}

// client holds what later steps use of earlier ones.
type client struct {
	*tfe.Client
	ctx       context.Context
	project   *tfe.Project
	workspace *tfe.Workspace
	team      *tfe.Team
	policy    *tfe.Policy
	run       *tfe.Run
	version   *tfe.ConfigurationVersion
	// token is the one of the organization.
	token string
}

var steps = []step{
	{"organizations: create, list, update and read entitlements", organizations, false},
	{"projects: create, tag, update and list", projects, false},
	{"workspaces: create with tags, list by tag and name, update, lock and unlock", workspaces, false},
	{"variables: create, update, list; a sensitive value is not shown", variables, false},
	{"variable sets: create, add a variable, apply to a workspace", variableSets, false},
	{"teams: create, list, give access to a workspace and a project", teams, false},
	{"tokens: of a team and of the organization", tokens, false},
	{"memberships: invite, list and read", memberships, false},
	{"policies: create, upload, download and update", policies, false},
	{"policy sets: create, attach a workspace, parameters", policySets, false},
	{"policy set versions: create, upload a directory and read", policySetVersions, false},
	{"state: lock, create a version, read outputs, download and unlock", states, false},
	{"run triggers: create, list by direction and delete", runTriggers, false},
	{"notifications: create, list, update and delete", notifications, false},
	{"runs: upload a configuration, plan with its log and JSON", planned, true},
	{"runs: the policy check fails softly, is overridden, and the run is applied", applied, true},
	{"runs: list, read with includes, and a destroy run is discarded", discarded, true},
	{"audit trail: the events of the organization", audit, false},
	{"errors: not found and unauthorized have their own values", failures, false},
	{"removal: of everything", removal, false},
}

func main() {
	shared, err := tfe.NewClient(&tfe.Config{RetryServerErrors: false})
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	c := &client{Client: shared, ctx: ctx}
	lines := json.NewEncoder(os.Stdout)
	for _, one := range steps {
		if one.executesRuns && os.Getenv("EXECUTE_RUNS") != "true" {
			continue
		}
		start := time.Now()
		err := safely(one, c)
		line := map[string]any{"step": one.name, "ms": time.Since(start).Milliseconds()}
		if err != nil {
			line["error"] = err.Error()
		}
		lines.Encode(line)
	}
}

// safely turns a panic, which a missing field of a response causes, into an error.
func safely(one step, c *client) (err error) {
	defer func() {
		if caught := recover(); caught != nil {
			err = fmt.Errorf("panic: %v", caught)
		}
	}()
	return one.run(c)
}

func check(is bool, format string, args ...any) error {
	if is {
		return nil
	}
	return fmt.Errorf(format, args...)
}

// first returns the first error, with the number of the call that failed.
func first(errs ...error) error {
	for at, err := range errs {
		if err != nil {
			return fmt.Errorf("%d: %w", at+1, err)
		}
	}
	return nil
}

func organizations(c *client) error {
	created, err := c.Organizations.Create(c.ctx, tfe.OrganizationCreateOptions{
		Name:  tfe.String(organization),
		Email: tfe.String("team@example.com"),
	})
	if err != nil {
		return err
	}
	list, err1 := c.Organizations.List(c.ctx, &tfe.OrganizationListOptions{})
	updated, err2 := c.Organizations.Update(c.ctx, organization, tfe.OrganizationUpdateOptions{
		Email: tfe.String("other@example.com"),
	})
	entitlements, err3 := c.Organizations.ReadEntitlements(c.ctx, organization)
	if err := first(err1, err2, err3); err != nil {
		return err
	}
	return first(
		check(created.Name == organization, "name %q", created.Name),
		check(len(list.Items) > 0, "the list is empty"),
		check(updated.Email == "other@example.com", "email %q", updated.Email),
		check(entitlements.Operations && entitlements.StateStorage && entitlements.Teams, "%+v", entitlements),
	)
}

func projects(c *client) error {
	project, err := c.Projects.Create(c.ctx, organization, tfe.ProjectCreateOptions{
		Name:        "platform",
		TagBindings: []*tfe.TagBinding{{Key: "cost", Value: "low"}},
	})
	if err != nil {
		return err
	}
	c.project = project
	_, err1 := c.Projects.AddTagBindings(c.ctx, project.ID, tfe.ProjectAddTagBindingsOptions{
		TagBindings: []*tfe.TagBinding{{Key: "owner", Value: "platform"}},
	})
	tags, err2 := c.Projects.ListTagBindings(c.ctx, project.ID)
	updated, err3 := c.Projects.Update(c.ctx, project.ID, tfe.ProjectUpdateOptions{
		Description: tfe.String("everything shared"),
	})
	list, err4 := c.Projects.List(c.ctx, organization, &tfe.ProjectListOptions{Name: "platform"})
	if err := first(err1, err2, err3, err4); err != nil {
		return err
	}
	return first(
		check(len(tags) == 2, "%d tags", len(tags)),
		check(updated.Description == "everything shared", "description %q", updated.Description),
		check(len(list.Items) == 1, "%d projects of the name", len(list.Items)),
	)
}

func workspaces(c *client) error {
	workspace, err := c.Workspaces.Create(c.ctx, organization, tfe.WorkspaceCreateOptions{
		Name:        tfe.String("network"),
		Project:     c.project,
		AutoApply:   tfe.Bool(false),
		TagBindings: []*tfe.TagBinding{{Key: "tier", Value: "one"}},
	})
	if err != nil {
		return err
	}
	c.workspace = workspace
	byTag, err1 := c.Workspaces.List(c.ctx, organization, &tfe.WorkspaceListOptions{
		TagBindings: []*tfe.TagBinding{{Key: "tier", Value: "one"}},
	})
	byName, err2 := c.Workspaces.List(c.ctx, organization, &tfe.WorkspaceListOptions{Search: "netw"})
	read, err3 := c.Workspaces.ReadWithOptions(c.ctx, organization, "network", &tfe.WorkspaceReadOptions{
		Include: []tfe.WSIncludeOpt{tfe.WSOrganization, tfe.WSProject},
	})
	updated, err4 := c.Workspaces.UpdateByID(c.ctx, workspace.ID, tfe.WorkspaceUpdateOptions{
		Description: tfe.String("networks"),
	})
	locked, err5 := c.Workspaces.Lock(c.ctx, workspace.ID, tfe.WorkspaceLockOptions{Reason: tfe.String("maintenance")})
	_, again := c.Workspaces.Lock(c.ctx, workspace.ID, tfe.WorkspaceLockOptions{})
	unlocked, err6 := c.Workspaces.Unlock(c.ctx, workspace.ID)
	effective, err7 := c.Workspaces.ListEffectiveTagBindings(c.ctx, workspace.ID)
	if err := first(err1, err2, err3, err4, err5, err6, err7); err != nil {
		return err
	}
	return first(
		check(len(byTag.Items) == 1 && len(byName.Items) == 1, "%d by tag, %d by name", len(byTag.Items), len(byName.Items)),
		check(read.Project.Name == "platform" && read.Organization.Name == organization, "included %+v", read.Project),
		check(updated.Description == "networks", "description %q", updated.Description),
		check(locked.Locked && !unlocked.Locked, "locked %v, unlocked %v", locked.Locked, unlocked.Locked),
		check(errors.Is(again, tfe.ErrWorkspaceLocked), "a second lock: %v", again),
		check(len(effective) == 3, "%d effective tags", len(effective)),
	)
}

func variables(c *client) error {
	id := c.workspace.ID
	plain, err := c.Variables.Create(c.ctx, id, tfe.VariableCreateOptions{
		Key:      tfe.String("greeting"),
		Value:    tfe.String("hello"),
		Category: tfe.Category(tfe.CategoryTerraform),
	})
	if err != nil {
		return err
	}
	secret, err1 := c.Variables.Create(c.ctx, id, tfe.VariableCreateOptions{
		Key:       tfe.String("API_KEY"),
		Value:     tfe.String("secret"),
		Category:  tfe.Category(tfe.CategoryEnv),
		Sensitive: tfe.Bool(true),
	})
	updated, err2 := c.Variables.Update(c.ctx, id, plain.ID, tfe.VariableUpdateOptions{Value: tfe.String("hi")})
	list, err3 := c.Variables.List(c.ctx, id, nil)
	if err := first(err1, err2, err3); err != nil {
		return err
	}
	return first(
		check(secret.Value == "" && secret.Sensitive, "a sensitive value is shown"),
		check(updated.Value == "hi", "value %q", updated.Value),
		check(len(list.Items) == 2, "%d variables", len(list.Items)),
	)
}

func variableSets(c *client) error {
	set, err := c.VariableSets.Create(c.ctx, organization, &tfe.VariableSetCreateOptions{
		Name:   tfe.String("shared"),
		Global: tfe.Bool(false),
	})
	if err != nil {
		return err
	}
	_, err1 := c.VariableSetVariables.Create(c.ctx, set.ID, &tfe.VariableSetVariableCreateOptions{
		Key:      tfe.String("region"),
		Value:    tfe.String("north"),
		Category: tfe.Category(tfe.CategoryTerraform),
	})
	err2 := c.VariableSets.ApplyToWorkspaces(c.ctx, set.ID, &tfe.VariableSetApplyToWorkspacesOptions{
		Workspaces: []*tfe.Workspace{c.workspace},
	})
	list, err3 := c.VariableSets.ListForWorkspace(c.ctx, c.workspace.ID, nil)
	if err := first(err1, err2, err3); err != nil {
		return err
	}
	return first(
		check(len(list.Items) == 1, "%d sets of the workspace", len(list.Items)),
		c.VariableSets.RemoveFromWorkspaces(c.ctx, set.ID, &tfe.VariableSetRemoveFromWorkspacesOptions{
			Workspaces: []*tfe.Workspace{c.workspace},
		}),
	)
}

func teams(c *client) error {
	team, err := c.Teams.Create(c.ctx, organization, tfe.TeamCreateOptions{
		Name:               tfe.String("developers"),
		OrganizationAccess: &tfe.OrganizationAccessOptions{ManagePolicies: tfe.Bool(true)},
	})
	if err != nil {
		return err
	}
	c.team = team
	access, err1 := c.TeamAccess.Add(c.ctx, tfe.TeamAccessAddOptions{
		Access:    tfe.Access(tfe.AccessWrite),
		Team:      team,
		Workspace: c.workspace,
	})
	projectAccess, err2 := c.TeamProjectAccess.Add(c.ctx, tfe.TeamProjectAccessAddOptions{
		Access:  tfe.TeamProjectAccessRead,
		Team:    team,
		Project: c.project,
	})
	list, err3 := c.Teams.List(c.ctx, organization, &tfe.TeamListOptions{Names: []string{"developers"}})
	if err := first(err1, err2, err3); err != nil {
		return err
	}
	updated, err := c.TeamAccess.Update(c.ctx, access.ID, tfe.TeamAccessUpdateOptions{Access: tfe.Access(tfe.AccessPlan)})
	if err != nil {
		return err
	}
	return first(
		check(updated.Access == tfe.AccessPlan, "access %q", updated.Access),
		check(projectAccess.Access == tfe.TeamProjectAccessRead, "project access %q", projectAccess.Access),
		check(len(list.Items) == 1 && list.Items[0].OrganizationAccess.ManagePolicies, "the list of teams"),
	)
}

func tokens(c *client) error {
	ofTeam, err1 := c.TeamTokens.CreateWithOptions(c.ctx, c.team.ID, tfe.TeamTokenCreateOptions{
		Description: tfe.String("pipeline"),
	})
	ofOrganization, err2 := c.OrganizationTokens.Create(c.ctx, organization)
	user, err3 := c.Users.ReadCurrent(c.ctx)
	if err := first(err1, err2, err3); err != nil {
		return err
	}
	c.token = ofOrganization.Token
	asTeam, err := tfe.NewClient(&tfe.Config{Token: ofTeam.Token})
	if err != nil {
		return err
	}
	_, err = asTeam.Workspaces.Read(c.ctx, organization, "network")
	return first(
		err,
		check(c.token != "", "the token has no secret"),
		check(user.Username != "", "the user has no name"),
		c.TeamTokens.DeleteByID(c.ctx, ofTeam.ID),
	)
}

func memberships(c *client) error {
	membership, err := c.OrganizationMemberships.Create(c.ctx, organization, tfe.OrganizationMembershipCreateOptions{
		Email: tfe.String("new@example.com"),
		Teams: []*tfe.Team{c.team},
	})
	if err != nil {
		return err
	}
	list, err := c.OrganizationMemberships.List(c.ctx, organization, &tfe.OrganizationMembershipListOptions{
		Emails: []string{"new@example.com"},
	})
	if err != nil {
		return err
	}
	return first(
		check(len(list.Items) == 1 && list.Items[0].ID == membership.ID, "%d memberships", len(list.Items)),
		check(membership.Status == tfe.OrganizationMembershipInvited, "status %q", membership.Status),
		c.OrganizationMemberships.Delete(c.ctx, membership.ID),
	)
}

const denyAll = "main = rule { false }\n"

func policies(c *client) error {
	policy, err := c.Policies.Create(c.ctx, organization, tfe.PolicyCreateOptions{
		Name: tfe.String("nothing"),
		Kind: tfe.Sentinel,
		Enforce: []*tfe.EnforcementOptions{{
			Path: tfe.String("nothing.sentinel"),
			Mode: tfe.EnforcementMode(tfe.EnforcementHard),
		}},
	})
	if err != nil {
		return err
	}
	c.policy = policy
	err1 := c.Policies.Upload(c.ctx, policy.ID, []byte(denyAll))
	text, err2 := c.Policies.Download(c.ctx, policy.ID)
	updated, err3 := c.Policies.Update(c.ctx, policy.ID, tfe.PolicyUpdateOptions{
		Enforce: []*tfe.EnforcementOptions{{
			Path: tfe.String("nothing.sentinel"),
			Mode: tfe.EnforcementMode(tfe.EnforcementSoft),
		}},
	})
	if err := first(err1, err2, err3); err != nil {
		return err
	}
	return first(
		check(string(text) == denyAll, "downloaded %q", text),
		check(updated.Enforce[0].Mode == tfe.EnforcementSoft, "mode %q", updated.Enforce[0].Mode),
	)
}

func policySets(c *client) error {
	set, err := c.PolicySets.Create(c.ctx, organization, tfe.PolicySetCreateOptions{
		Name:     tfe.String("rules"),
		Policies: []*tfe.Policy{c.policy},
	})
	if err != nil {
		return err
	}
	err1 := c.PolicySets.AddWorkspaces(c.ctx, set.ID, tfe.PolicySetAddWorkspacesOptions{
		Workspaces: []*tfe.Workspace{c.workspace},
	})
	parameter, err2 := c.PolicySetParameters.Create(c.ctx, set.ID, tfe.PolicySetParameterCreateOptions{
		Key:      tfe.String("limit"),
		Value:    tfe.String("3"),
		Category: tfe.Category(tfe.CategoryPolicySet),
	})
	read, err3 := c.PolicySets.ReadWithOptions(c.ctx, set.ID, &tfe.PolicySetReadOptions{
		Include: []tfe.PolicySetIncludeOpt{tfe.PolicySetPolicies},
	})
	if err := first(err1, err2, err3); err != nil {
		return err
	}
	return first(
		check(parameter.Value == "3", "parameter %q", parameter.Value),
		check(read.PolicyCount == 1 && read.WorkspaceCount == 1, "%d policies, %d workspaces", read.PolicyCount, read.WorkspaceCount),
		check(read.Policies[0].Name == "nothing", "included policy %q", read.Policies[0].Name),
	)
}

func policySetVersions(c *client) error {
	directory, err := os.MkdirTemp("", "policies")
	if err != nil {
		return err
	}
	defer os.RemoveAll(directory)
	manifest := "policy \"always\" {\n  source = \"./always.sentinel\"\n}\n"
	err1 := os.WriteFile(filepath.Join(directory, "sentinel.hcl"), []byte(manifest), 0o600)
	err2 := os.WriteFile(filepath.Join(directory, "always.sentinel"), []byte("main = rule { true }\n"), 0o600)
	set, err3 := c.PolicySets.Create(c.ctx, organization, tfe.PolicySetCreateOptions{Name: tfe.String("versioned")})
	if err := first(err1, err2, err3); err != nil {
		return err
	}
	version, err := c.PolicySetVersions.Create(c.ctx, set.ID)
	if err != nil {
		return err
	}
	err1 = c.PolicySetVersions.Upload(c.ctx, *version, directory)
	read, err2 := c.PolicySetVersions.Read(c.ctx, version.ID)
	if err := first(err1, err2); err != nil {
		return err
	}
	return check(read.Status == tfe.PolicySetVersionReady, "status %q: %s", read.Status, read.ErrorMessage)
}

const state = `{"version":4,"terraform_version":"1.11.4","serial":1,"lineage":"3f1a",` +
	`"outputs":{"address":{"value":"10.0.0.1","type":"string"}},"resources":[],"check_results":null}`

func states(c *client) error {
	workspace, err := c.Workspaces.Create(c.ctx, organization, tfe.WorkspaceCreateOptions{Name: tfe.String("stored")})
	if err != nil {
		return err
	}
	if _, err := c.Workspaces.Lock(c.ctx, workspace.ID, tfe.WorkspaceLockOptions{}); err != nil {
		return err
	}
	version, err := c.StateVersions.Create(c.ctx, workspace.ID, tfe.StateVersionCreateOptions{
		Lineage: tfe.String("3f1a"),
		MD5:     tfe.String(fmt.Sprintf("%x", md5.Sum([]byte(state)))),
		Serial:  tfe.Int64(1),
		State:   tfe.String(base64.StdEncoding.EncodeToString([]byte(state))),
	})
	if err != nil {
		return err
	}
	current, err1 := c.StateVersions.ReadCurrent(c.ctx, workspace.ID)
	text, err2 := c.StateVersions.Download(c.ctx, version.DownloadURL)
	outputs, err3 := c.StateVersionOutputs.ReadCurrent(c.ctx, workspace.ID)
	_, err4 := c.Workspaces.Unlock(c.ctx, workspace.ID)
	if err := first(err1, err2, err3, err4); err != nil {
		return err
	}
	return first(
		check(current.ID == version.ID && current.Serial == 1, "current %q, serial %d", current.ID, current.Serial),
		check(string(text) == state, "downloaded %d bytes", len(text)),
		check(len(outputs.Items) == 1 && outputs.Items[0].Value == "10.0.0.1", "outputs %+v", outputs.Items),
	)
}

func runTriggers(c *client) error {
	source, err := c.Workspaces.Read(c.ctx, organization, "stored")
	if err != nil {
		return err
	}
	trigger, err := c.RunTriggers.Create(c.ctx, c.workspace.ID, tfe.RunTriggerCreateOptions{Sourceable: source})
	if err != nil {
		return err
	}
	inbound, err1 := c.RunTriggers.List(c.ctx, c.workspace.ID, &tfe.RunTriggerListOptions{RunTriggerType: tfe.RunTriggerInbound})
	outbound, err2 := c.RunTriggers.List(c.ctx, source.ID, &tfe.RunTriggerListOptions{RunTriggerType: tfe.RunTriggerOutbound})
	if err := first(err1, err2); err != nil {
		return err
	}
	return first(
		check(len(inbound.Items) == 1 && len(outbound.Items) == 1, "%d inbound, %d outbound", len(inbound.Items), len(outbound.Items)),
		check(trigger.SourceableName == "stored", "source %q", trigger.SourceableName),
		c.RunTriggers.Delete(c.ctx, trigger.ID),
	)
}

func notifications(c *client) error {
	created, err := c.NotificationConfigurations.Create(c.ctx, c.workspace.ID, tfe.NotificationConfigurationCreateOptions{
		DestinationType: tfe.NotificationDestination(tfe.NotificationDestinationTypeGeneric),
		Enabled:         tfe.Bool(false),
		Name:            tfe.String("hook"),
		URL:             tfe.String("http://127.0.0.1:9/hook"),
		Triggers:        []tfe.NotificationTriggerType{tfe.NotificationTriggerCreated, tfe.NotificationTriggerErrored},
	})
	if err != nil {
		return err
	}
	updated, err1 := c.NotificationConfigurations.Update(c.ctx, created.ID, tfe.NotificationConfigurationUpdateOptions{
		Name: tfe.String("renamed"),
	})
	list, err2 := c.NotificationConfigurations.List(c.ctx, c.workspace.ID, nil)
	if err := first(err1, err2); err != nil {
		return err
	}
	return first(
		check(updated.Name == "renamed" && len(updated.Triggers) == 2, "updated %+v", updated),
		check(len(list.Items) == 1, "%d configurations", len(list.Items)),
		c.NotificationConfigurations.Delete(c.ctx, created.ID),
	)
}

const configuration = `
variable "greeting" { type = string }
resource "terraform_data" "first" { input = var.greeting }
output "greeting" { value = terraform_data.first.output }
`

// archive packs one file as a configuration.
func archive(text string) (io.Reader, error) {
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	files := tar.NewWriter(zipped)
	header := &tar.Header{Name: "main.tf", Mode: 0o644, Size: int64(len(text)), Typeflag: tar.TypeReg}
	err1 := files.WriteHeader(header)
	_, err2 := files.Write([]byte(text))
	return &packed, first(err1, err2, files.Close(), zipped.Close())
}

// until reads the run until it has one of the statuses.
func (c *client) until(id string, statuses ...tfe.RunStatus) (*tfe.Run, error) {
	end := time.Now().Add(90 * time.Second)
	for {
		run, err := c.Runs.ReadWithOptions(c.ctx, id, &tfe.RunReadOptions{Include: []tfe.RunIncludeOpt{tfe.RunPlan, tfe.RunApply}})
		if err != nil {
			return nil, err
		}
		for _, status := range statuses {
			if run.Status == status {
				return run, nil
			}
		}
		if time.Now().After(end) {
			return nil, fmt.Errorf("the run is %q, not %v", run.Status, statuses)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func planned(c *client) error {
	version, err := c.ConfigurationVersions.Create(c.ctx, c.workspace.ID, tfe.ConfigurationVersionCreateOptions{
		AutoQueueRuns: tfe.Bool(false),
	})
	if err != nil {
		return err
	}
	c.version = version
	packed, err := archive(configuration)
	if err != nil {
		return err
	}
	if err := c.ConfigurationVersions.UploadTarGzip(c.ctx, version.UploadURL, packed); err != nil {
		return err
	}
	run, err := c.Runs.Create(c.ctx, tfe.RunCreateOptions{
		Workspace:            c.workspace,
		ConfigurationVersion: version,
		Message:              tfe.String("from the client"),
	})
	if err != nil {
		return err
	}
	logs, err := c.Plans.Logs(c.ctx, run.Plan.ID)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(logs)
	if err != nil {
		return err
	}
	c.run, err = c.until(run.ID, tfe.RunPolicyOverride, tfe.RunErrored)
	if err != nil {
		return err
	}
	document, err := c.Plans.ReadJSONOutput(c.ctx, run.Plan.ID)
	return first(
		err,
		check(strings.Contains(string(text), "terraform_data.first"), "the log: %s", text),
		check(c.run.Status == tfe.RunPolicyOverride, "status %q: %s", c.run.Status, text),
		check(c.run.Plan.ResourceAdditions == 1, "%d additions", c.run.Plan.ResourceAdditions),
		check(json.Valid(document) && bytes.Contains(document, []byte("resource_changes")), "the plan is no JSON"),
	)
}

func applied(c *client) error {
	checks, err := c.PolicyChecks.List(c.ctx, c.run.ID, nil)
	if err != nil {
		return err
	}
	if len(checks.Items) != 1 || checks.Items[0].Status != tfe.PolicySoftFailed {
		return fmt.Errorf("%d policy checks, first %+v", len(checks.Items), checks.Items)
	}
	logs, err := c.PolicyChecks.Logs(c.ctx, checks.Items[0].ID)
	if err != nil {
		return err
	}
	text, err1 := io.ReadAll(logs)
	overridden, err2 := c.PolicyChecks.Override(c.ctx, checks.Items[0].ID)
	if err := first(err1, err2); err != nil {
		return err
	}
	if err := c.Runs.Apply(c.ctx, c.run.ID, tfe.RunApplyOptions{Comment: tfe.String("looks right")}); err != nil {
		return err
	}
	run, err := c.until(c.run.ID, tfe.RunApplied, tfe.RunErrored)
	if err != nil {
		return err
	}
	applyLogs, err := c.Applies.Logs(c.ctx, run.Apply.ID)
	if err != nil {
		return err
	}
	applyText, err1 := io.ReadAll(applyLogs)
	outputs, err2 := c.StateVersionOutputs.ReadCurrent(c.ctx, c.workspace.ID)
	if err := first(err1, err2); err != nil {
		return err
	}
	return first(
		check(strings.Contains(string(text), "nothing"), "the log of the check: %s", text),
		check(overridden.Status == tfe.PolicyOverridden, "status %q", overridden.Status),
		check(run.Status == tfe.RunApplied, "status %q: %s", run.Status, applyText),
		check(len(outputs.Items) == 1 && outputs.Items[0].Value == "hi", "outputs %+v", outputs.Items),
	)
}

func discarded(c *client) error {
	list, err := c.Runs.List(c.ctx, c.workspace.ID, &tfe.RunListOptions{Status: "applied"})
	if err != nil {
		return err
	}
	run, err := c.Runs.Create(c.ctx, tfe.RunCreateOptions{
		Workspace:            c.workspace,
		ConfigurationVersion: c.version,
		IsDestroy:            tfe.Bool(true),
	})
	if err != nil {
		return err
	}
	if _, err := c.until(run.ID, tfe.RunPolicyOverride, tfe.RunErrored); err != nil {
		return err
	}
	if err := c.Runs.Discard(c.ctx, run.ID, tfe.RunDiscardOptions{Comment: tfe.String("not yet")}); err != nil {
		return err
	}
	ended, err := c.until(run.ID, tfe.RunDiscarded)
	if err != nil {
		return err
	}
	return first(
		check(len(list.Items) == 1, "%d applied runs", len(list.Items)),
		check(ended.IsDestroy, "it is no destroy run"),
	)
}

func audit(c *client) error {
	owner, err := tfe.NewClient(&tfe.Config{Token: c.token})
	if err != nil {
		return err
	}
	trail, err := owner.AuditTrails.List(c.ctx, &tfe.AuditTrailListOptions{})
	if err != nil {
		return err
	}
	return first(
		check(len(trail.Items) > 0, "the trail is empty"),
		check(trail.Items[0].Resource.Type != "", "the first event names no resource: %+v", trail.Items[0]),
	)
}

func failures(c *client) error {
	_, missing := c.Workspaces.Read(c.ctx, organization, "missing")
	stranger, err := tfe.NewClient(&tfe.Config{Token: "unknown"})
	if err != nil {
		return err
	}
	_, rejected := stranger.Organizations.Read(c.ctx, organization)
	_, invalid := c.Workspaces.Create(c.ctx, organization, tfe.WorkspaceCreateOptions{Name: tfe.String("network")})
	return first(
		check(errors.Is(missing, tfe.ErrResourceNotFound), "a missing workspace: %v", missing),
		check(errors.Is(rejected, tfe.ErrUnauthorized), "an unknown token: %v", rejected),
		check(invalid != nil && strings.Contains(invalid.Error(), "taken"), "a name in use: %v", invalid),
	)
}

func removal(c *client) error {
	return first(
		c.Teams.Delete(c.ctx, c.team.ID),
		c.Workspaces.DeleteByID(c.ctx, c.workspace.ID),
		c.Organizations.Delete(c.ctx, organization),
	)
}
